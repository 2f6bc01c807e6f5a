package bolt

import (
	"fmt"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// BenchmarkDelivered is what one sender's deliveries and acknowledgements write.
func BenchmarkDelivered(b *testing.B) {
	for _, held := range []int{0, 2000} {
		for _, size := range []int{600, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%d B, %d held", size, held), func(b *testing.B) {
				s, sealed := benchStore(b), make([]byte, size)
				for i := range held {
					s.mustDeliver(b, sealed[:600], fmt.Sprint("hook ", i%50))
				}
				var added, removed int64
				for b.Loop() {
					before := wchar(b)
					id := s.mustDeliver(b, sealed, "hook 7")
					middle := wchar(b)
					if n, err := s.Hooks().Remove(b.Context(), []string{id}); n != 1 || err != nil {
						b.Fatal(n, err)
					}
					added, removed = added+middle-before, removed+wchar(b)-middle
				}
				b.ReportMetric(float64(added)/float64(b.N), "wchar/delivery")
				b.ReportMetric(float64(removed)/float64(b.N), "wchar/acknowledgement")
			})
		}
	}
}

// BenchmarkDeliveries reads the list of as many deliveries as are kept by default.
func BenchmarkDeliveries(b *testing.B) {
	s := benchStore(b)
	for i := range 2000 {
		s.mustDeliver(b, make([]byte, 600), fmt.Sprint("hook ", i%50))
	}
	for b.Loop() {
		n := 0
		for _, err := range s.Hooks().List(b.Context(), "") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 2000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkRegister registers a hundred addresses, another each time.
func BenchmarkRegister(b *testing.B) {
	s := benchStore(b)
	all := make([]storage.Hook, 100)
	written := wchar(b)
	for i := 0; b.Loop(); i++ {
		for j := range all {
			all[j] = storage.Hook(ownerOf(fmt.Sprint("hook ", i+j)))
		}
		if err := s.Hooks().Register(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(wchar(b)-written)/float64(b.N), "wchar/op")
}
