package bolt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// benchStore is a store whose caps bind nowhere.
func benchStore(b testing.TB) *Store {
	b.Helper()
	s, err := Open(filepath.Join(b.TempDir(), "holdmail.db"), Options{Options: storage.Options{
		Caps:         storage.Caps{RecipientBytes: 8 << 30, TotalBytes: 8 << 30, RecipientMessages: 1 << 30, TotalMessages: 1 << 30, Challenges: 1},
		MessageTTL:   time.Hour,
		ChallengeTTL: time.Minute,
		Hooks:        storage.HookCaps{Deliveries: 1 << 30, Bytes: 8 << 30, HookDeliveries: 1 << 30, HookBytes: 8 << 30},
		HookTTL:      time.Hour,
		Clock:        clock.System{},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func (s *Store) mustAdd(b testing.TB, body []byte, to ...string) []string {
	b.Helper()
	ids, err := s.Mailbox().Add(b.Context(), storage.Envelope{Recipients: to, Body: body})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// hold files n messages of size bytes over so many mailboxes, by 256 senders.
func (s *Store) hold(b testing.TB, n, size, mailboxes int) {
	b.Helper()
	body := bytes.Repeat([]byte("x"), size)
	var next atomic.Int64
	var g sync.WaitGroup
	for range 256 {
		g.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if _, err := s.Mailbox().Add(b.Context(), storage.Envelope{Recipients: []string{fmt.Sprint("mailbox ", i%mailboxes)}, Body: body}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
}

// syncTime is what one fdatasync of one written page takes here and now.
func syncTime(b testing.TB) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 1<<20); err != nil {
		b.Fatal(err)
	}
	const n = 300
	page := make([]byte, 4096)
	var took time.Duration
	for i := range n {
		if _, err := f.WriteAt(page, int64(i%200)*4096); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
	}
	return took / n
}

// BenchmarkAlone is one sender's durable deposits of 1 KiB next to plain
// db.Update calls that put the same bytes, turn by turn in one run.
func BenchmarkAlone(b *testing.B) {
	s, body := benchStore(b), make([]byte, 1024)
	plain, err := bbolt.Open(filepath.Join(b.TempDir(), "plain.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	if err := plain.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("plain")); return err }); err != nil {
		b.Fatal(err)
	}
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		s.mustAdd(b, body, "ann")
		ours += time.Since(start)
		start = time.Now()
		err := plain.Update(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket([]byte("plain"))
			n, _ := bucket.NextSequence()
			return bucket.Put(sequence(n).key(), body)
		})
		theirs += time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "deposit-µs")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "update-µs")
	b.ReportMetric(100*float64(theirs)/float64(ours), "%-of-update")
	b.ReportMetric(float64(syncTime(b).Microseconds()), "fdatasync-µs")
}

// BenchmarkCrowd is 64 senders at once.
func BenchmarkCrowd(b *testing.B) {
	for _, size := range []int{600, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, body := benchStore(b), make([]byte, size)
			f := syncTime(b)
			b.SetParallelism(64 / max(1, maxProcs()))
			commits, members, written := s.writer.commits.Load(), s.writer.members.Load(), wchar(b)
			var sender atomic.Int64
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				me := fmt.Sprint("ann", sender.Add(1))
				for pb.Next() {
					s.mustAdd(b, body, me)
				}
			})
			b.StopTimer()
			f = (f + syncTime(b)) / 2
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "deposits/s")
			b.ReportMetric(float64(s.writer.members.Load()-members)/float64(s.writer.commits.Load()-commits), "batch")
			b.ReportMetric(100*rate*2*f.Seconds()/64, "%-of-64/2f")
			b.ReportMetric(float64(wchar(b)-written)/float64(b.N), "wchar/op")
			b.ReportMetric(float64(f.Microseconds()), "fdatasync-µs")
		})
	}
}

// BenchmarkWritten is what one sender's deposits and acknowledgements write.
func BenchmarkWritten(b *testing.B) {
	deposits := func(prepare func(*Store), size int, to ...string) func(*testing.B) {
		return func(b *testing.B) {
			s, body := benchStore(b), make([]byte, size)
			prepare(s)
			written := wchar(b)
			for i := 0; b.Loop(); i++ {
				s.mustAdd(b, body, to...)
			}
			b.ReportMetric(float64(wchar(b)-written)/float64(b.N), "wchar/op")
			b.ReportMetric(float64(wchar(b)-written)/float64(b.N)/float64(size), "times-size")
		}
	}
	empty := func(*Store) {}
	b.Run("600 B, few held", deposits(empty, 600, "ann"))
	b.Run("600 B, after a drained burst of 400 MiB", func(b *testing.B) {
		deposits(func(s *Store) {
			s.hold(b, 400, 1<<20, 10)
			s.drain(b, 10)
		}, 600, "ann")(b)
	})
	b.Run("600 B, 100000 held in 1000 mailboxes", func(b *testing.B) {
		deposits(func(s *Store) { s.hold(b, 100_000, 600, 1000) }, 600, "mailbox 500")(b)
	})
	b.Run("64 KiB", deposits(empty, 64<<10, "ann"))
	b.Run("1 MiB", deposits(empty, 1<<20, "ann"))
	b.Run("1 MiB for five", deposits(empty, 1<<20, "ann", "bob", "cid", "dan", "eve"))
	b.Run("acknowledgement", func(b *testing.B) {
		s := benchStore(b)
		s.hold(b, 200, 600, 20)
		var written int64
		for b.Loop() {
			ids := s.mustAdd(b, make([]byte, 600), "ann")
			before := wchar(b)
			if n, err := s.Mailbox().Remove(b.Context(), "ann", ids); n != 1 || err != nil {
				b.Fatal(n, err)
			}
			written += wchar(b) - before
		}
		b.ReportMetric(float64(written)/float64(b.N), "wchar/op")
	})
}

// BenchmarkHeld is one sender's latency with few and with very many held.
func BenchmarkHeld(b *testing.B) {
	few, many := benchStore(b), benchStore(b)
	few.hold(b, 1000, 200, 100)
	many.hold(b, 1_000_000, 200, 1000)
	body := make([]byte, 200)
	var took [2]time.Duration
	for i := 0; b.Loop(); i++ {
		for j, s := range []*Store{few, many} {
			start := time.Now()
			s.mustAdd(b, body, fmt.Sprint("mailbox ", i%100))
			took[j] += time.Since(start)
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "few-µs")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "many-µs")
	b.ReportMetric(float64(took[1])/float64(took[0]), "many/few")
}

// BenchmarkList reads a mailbox of a thousand messages.
func BenchmarkList(b *testing.B) {
	s := benchStore(b)
	s.hold(b, 1000, 600, 1)
	for b.Loop() {
		n := 0
		for m, err := range s.Mailbox().List(b.Context(), "mailbox 0", "") {
			if err != nil {
				b.Fatal(err)
			}
			n += int(m.Size)
		}
		if n != 600_000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/message")
}

func (s *Store) drain(b testing.TB, mailboxes int) {
	b.Helper()
	for i := range mailboxes {
		name := fmt.Sprint("mailbox ", i)
		var ids []string
		for m, err := range s.Mailbox().List(b.Context(), name, "") {
			if err != nil {
				b.Fatal(err)
			}
			ids = append(ids, m.ID)
		}
		if n, err := s.Mailbox().Remove(b.Context(), name, ids); n != len(ids) || err != nil {
			b.Fatal(n, err)
		}
	}
}
