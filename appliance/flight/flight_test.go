package flight_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/flight"
)

// load is a load that remembers that it was ended.
type load struct {
	*flight.Load
	ended bool
}

// shared is a budget of which each holder has one share.
type shared struct {
	*flight.Budget
	share int64
}

func budget(total, share int64) shared { return shared{flight.NewBudget(total), share} }

func begin(b shared, holder string, wider ...flight.Holder) *load {
	l := &load{}
	l.Load = b.Begin(func() { l.ended = true }, append(wider, flight.Holder{Name: holder, Most: b.share})...)
	return l
}

// check fails unless l can or cannot hold n more, as want says.
func (l *load) check(t testing.TB, n int64, want error) {
	t.Helper()
	if err := l.Hold(n); !errors.Is(err, want) {
		t.Errorf("Hold(%d) = %v, want %v", n, err, want)
	}
}

func TestNobodyHoldsMoreThanThereIs(t *testing.T) {
	b := budget(100, 40)
	ann, too, bob, cid := begin(b, "ann"), begin(b, "ann"), begin(b, "bob"), begin(b, "cid")
	ann.check(t, 30, nil)
	too.check(t, 10, nil)
	too.check(t, 1, flight.ErrBusy) // ann's share
	bob.check(t, 40, nil)
	cid.check(t, 21, flight.ErrBusy) // the total
	cid.check(t, 20, nil)
	ann.Drop(30)
	too.check(t, 20, nil)
	too.Release()
	ann.check(t, 40, nil)
	ann.DropAll()
	ann.check(t, 40, nil)
	for _, l := range []*load{ann, too, bob, cid} {
		l.Release()
		if l.ended {
			t.Error("a young load was ended")
		}
	}
}

func TestAMovedLoadCountsToAnotherHolder(t *testing.T) {
	b := budget(100, 40)
	ann, too, out := begin(b, "ann"), begin(b, "ann"), begin(b, "out")
	ann.check(t, 30, nil)
	out.check(t, 15, nil)
	if err := ann.Move(flight.Holder{Name: "out", Most: 40}); !errors.Is(err, flight.ErrBusy) {
		t.Errorf("moving 30 to who has 25 left: %v", err)
	}
	too.check(t, 11, flight.ErrBusy) // it was not moved
	out.Drop(5)
	if err := ann.Move(flight.Holder{Name: "out", Most: 40}); err != nil {
		t.Error(err)
	}
	too.check(t, 40, nil)
	out.check(t, 1, flight.ErrBusy)
	begin(b, "bob").check(t, 21, flight.ErrBusy) // all hold as much as before
	ann.Release()
	out.check(t, 30, nil)
}

func TestTheSlowestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(100, 100)
		slow, slower, fast, settled := begin(b, "a"), begin(b, "b"), begin(b, "c"), begin(b, "d")
		for l, arrived := range map[*load]int{slow: 20, slower: 10, fast: 1000, settled: 1} {
			l.check(t, 25, nil)
			l.Arrived(arrived)
		}
		settled.Settle()
		time.Sleep(flight.Grace)

		young := begin(b, "e")
		young.check(t, 25, nil)
		if !slower.ended || slow.ended || fast.ended || settled.ended {
			t.Errorf("ended: slower %v, slow %v, fast %v, settled %v", slower.ended, slow.ended, fast.ended, settled.ended)
		}
		slower.check(t, 1, flight.ErrEnded)
		slower.Release()

		young.check(t, 51, flight.ErrBusy) // and so nobody is ended
		if slow.ended || fast.ended {
			t.Error("a load was ended for one that did not fit all the same")
		}
		slow.check(t, 1, flight.ErrBusy) // nobody is slower
		fast.check(t, 25, nil)
		if !slow.ended {
			t.Error("the slow load held a faster one up")
		}
	})
}

func TestAHolderOverItsShareMakesRoomForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(100, 50)
		mine, other := begin(b, "mine"), begin(b, "other")
		mine.check(t, 50, nil)
		mine.Arrived(10)
		other.check(t, 50, nil)
		time.Sleep(flight.Grace)

		begin(b, "mine").check(t, 40, nil)
		if !mine.ended || other.ended {
			t.Errorf("ended: mine %v, other %v", mine.ended, other.ended)
		}
	})
}

func TestManyHoldersOfAGroupHaveNoMoreThanTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget(100, 30)
		group := flight.Holder{Name: "group", Most: 50}
		one, two := begin(b, "one", group), begin(b, "two", group)
		one.check(t, 30, nil)
		two.check(t, 20, nil)
		begin(b, "three", group).check(t, 1, flight.ErrBusy)
		outside := begin(b, "outside")
		outside.check(t, 30, nil)
		one.Arrived(10)
		two.Arrived(5)
		time.Sleep(flight.Grace)

		begin(b, "four", group).check(t, 10, nil) // in the place of the group's slowest
		if !two.ended || one.ended || outside.ended {
			t.Errorf("ended: one %v, two %v, outside %v", one.ended, two.ended, outside.ended)
		}
		begin(b, "one", group).check(t, 30, nil) // in its own, though others are there
		if !one.ended || outside.ended {
			t.Errorf("ended: one %v, outside %v", one.ended, outside.ended)
		}
	})
}

func TestNothingIsHeldInTheEnd(t *testing.T) {
	const total = 1000
	b := budget(total, total)
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 2000 {
				l := b.Begin(func() {}, flight.Holder{Name: string(rune('a' + i%3)), Most: total})
				for range 3 {
					if l.Hold(r.Int64N(200)) == nil {
						l.Arrived(1)
						l.Drop(r.Int64N(300))
					}
				}
				l.Release()
			}
		})
	}
	g.Wait()
	begin(b, "last").check(t, total, nil)
}

func TestNoLoadCountsNothing(t *testing.T) {
	l := flight.Of(t.Context())
	if err := l.Hold(1 << 60); err != nil {
		t.Error(err)
	}
	l.Arrived(1)
	l.Settle()
	l.Drop(1)
	l.Release()
	b := flight.NewBudget(1)
	if l := b.Begin(nil); flight.Of(flight.With(t.Context(), l)) != l {
		t.Error("a context does not carry its load")
	}
}

func TestLargeLoadsLeaveRoomForSmallOnes(t *testing.T) {
	const total, share = 1 << 20, 1 << 19
	b := budget(total, share)
	large := begin(b, "ann")
	large.check(t, share, flight.ErrBusy)
	large.check(t, share-share/32, nil)
	begin(b, "ann").check(t, share/32, nil)
	begin(b, "bob").check(t, share-total/8, nil)
	begin(b, "cid").check(t, 65<<10, flight.ErrBusy)
	for range 2 {
		begin(b, "cid").check(t, 64<<10, nil)
	}
	begin(b, "cid").check(t, 1, flight.ErrBusy)
}

func TestWhatOneLoadNeeds(t *testing.T) {
	for _, n := range []int64{1, 1000, 1 << 20, 7_917_568, 1<<40 + 7} {
		share := flight.ShareFor(n)
		l := begin(budget(flight.TotalFor(share), share), "ann")
		l.check(t, n, nil)
	}
}
