package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"pgregory.net/rapid"
)

// rack is the simplest place for deliveries there can be.
type rack struct {
	kept     []rackDelivery // sorted by id
	reserved []storage.Delivery
	named    []string // all ids there ever were
	now      time.Duration
}

type rackDelivery struct {
	storage.Delivery
	born time.Duration
}

func (r *rack) live() (live []rackDelivery) {
	for _, d := range r.kept {
		if r.now-d.born < time.Hour {
			live = append(live, d)
		}
	}
	return live
}

// fits decides by what has not expired alone, since a refusal sheds the rest first.
func (r *rack) fits(d storage.Delivery, caps storage.HookCaps) bool {
	size := int64(len(d.Sealed))
	all, box := storage.HookTotals{Deliveries: 1, Bytes: size}, storage.HookTotals{Deliveries: 1, Bytes: size}
	for _, k := range r.live() {
		size := int64(len(k.Sealed))
		all.Deliveries, all.Bytes = all.Deliveries+1, all.Bytes+size
		if k.Hook == d.Hook {
			box.Deliveries, box.Bytes = box.Deliveries+1, box.Bytes+size
		}
	}
	return all.Deliveries <= caps.Deliveries && all.Bytes <= caps.Bytes &&
		box.Deliveries <= caps.HookDeliveries && box.Bytes <= caps.HookBytes
}

// keep lets d age with the first behind it, if there is one.
func (r *rack) keep(d storage.Delivery) {
	at, _ := slices.BinarySearchFunc(r.kept, d.ID, func(k rackDelivery, id string) int {
		if k.ID < id {
			return -1
		}
		return 1
	})
	born := r.now
	if live := r.kept[at:]; len(live) > 0 {
		born = min(born, live[0].born)
	}
	r.kept = slices.Insert(r.kept, at, rackDelivery{d, born})
}

// testHookModel makes random calls and compares every answer with a rack's.
func testHookModel(t *testing.T, open Open) {
	caps := storage.HookCaps{Deliveries: 14, Bytes: 100_000, HookDeliveries: 8, HookBytes: 60_000}
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(r *rapid.T) {
		b := open.open(t, hookCaps(caps))
		defer b.Close()
		p := &rack{}
		add := func(r *rapid.T, d storage.Delivery) {
			err := b.Hooks.Add(t.Context(), d)
			if fits := p.fits(d, caps); fits != (err == nil) || (err != nil && !errors.Is(err, storage.ErrFull)) {
				r.Fatalf("a delivery of %d bytes: %v; it fits: %v", len(d.Sealed), err, fits)
			}
			// What has expired before it may be gone or not, but must not lend its age.
			p.kept = p.live()
			if err == nil {
				p.keep(d)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"reserve": func(r *rapid.T) {
				size := rapid.SampledFrom([]int{0, 20, 600, 2048, 5000, 40_000}).Draw(r, "size")
				d := b.reserve(body(fmt.Sprint("delivery ", len(p.named)), size), rapid.SampledFrom(names).Draw(r, "to"))
				if len(p.named) > 0 && d.ID <= p.named[len(p.named)-1] {
					r.Fatalf("%s was reserved after %s", d.ID, p.named[len(p.named)-1])
				}
				p.named = append(p.named, d.ID)
				if rapid.Bool().Draw(r, "at once") {
					add(r, d)
				} else {
					p.reserved = append(p.reserved, d)
				}
			},
			"add late": func(r *rapid.T) {
				if len(p.reserved) == 0 {
					return
				}
				i := rapid.IntRange(0, len(p.reserved)-1).Draw(r, "which")
				d := p.reserved[i]
				p.reserved = slices.Delete(p.reserved, i, i+1)
				add(r, d)
			},
			"acknowledge": func(r *rapid.T) {
				var ids []string
				want := 0
				for i := len(p.kept) - 1; i >= 0; i-- {
					if d := p.kept[i]; rapid.Bool().Draw(r, "this one") {
						ids = append(ids, d.ID)
						if p.now-d.born < time.Hour {
							want++
						}
						p.kept = slices.Delete(p.kept, i, i+1)
					}
				}
				if got, err := b.Hooks.Remove(t.Context(), ids); got != want || err != nil {
					r.Fatalf("Remove(%d ids) = %d, %v; want %d", len(ids), got, err, want)
				}
			},
			"page": func(r *rapid.T) {
				if len(p.named) == 0 {
					return
				}
				after := rapid.SampledFrom(p.named).Draw(r, "after")
				b.compare(r, after, p.live())
			},
			"wait": func(r *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute
				p.now += d
				b.clock.Advance(d)
			},
			"step the clock": func(r *rapid.T) {
				b.clock.Step(time.Duration(rapid.IntRange(-100_000, 100_000).Draw(r, "hours")) * time.Hour)
			},
			"": func(r *rapid.T) {
				b.compare(r, "", p.live())
				b.hookTotals()
			},
		})
	})
}

// compare fails unless those of want that stand behind after are listed.
func (b *bench) compare(r *rapid.T, after string, want []rackDelivery) {
	want = slices.DeleteFunc(slices.Clone(want), func(d rackDelivery) bool { return d.ID <= after })
	got := b.parcels(after)
	same := slices.EqualFunc(got, want, func(p parcel, d rackDelivery) bool {
		return p.id == d.ID && p.sealed == string(d.Sealed) && p.hook == d.Hook && p.received.Equal(d.Received)
	})
	if !same {
		r.Fatalf("after %q %d deliveries are listed; want %d", after, len(got), len(want))
	}
}
