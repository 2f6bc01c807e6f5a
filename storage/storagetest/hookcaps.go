package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
)

func hookCaps(c storage.HookCaps) func(*storage.Options) {
	return func(o *storage.Options) { o.Hooks = c }
}

func testHookCaps(t *testing.T, open Open) {
	small := hookCaps(storage.HookCaps{Deliveries: 8, Bytes: 2500, HookDeliveries: 5, HookBytes: 1000})
	t.Run("bytes of an address", func(t *testing.T) {
		b := open.open(t, small)
		b.turnAway(body("over", 1001), "a")
		id := b.deliver(body("1", 400), "a")
		b.deliver(body("2", 600), "a")
		b.turnAway("x", "a")
		b.deliver("", "a") // nothing fits in nothing
		b.acknowledge(1, id)
		b.turnAway(body("3", 401), "a")
		b.deliver(body("3", 400), "a")
		b.wantHookTotals(3, 1000)
	})
	t.Run("bytes in all", func(t *testing.T) {
		b := open.open(t, small)
		id := b.deliver(body("a", 1000), "a")
		b.deliver(body("b", 1000), "b")
		b.turnAway(body("c", 501), "c")
		b.deliver(body("c", 500), "c")
		b.turnAway("x", "d")
		b.acknowledge(1, id)
		b.deliver(body("d", 1000), "d")
		b.turnAway("x", "e")
		b.wantHookTotals(3, 2500)
	})
	t.Run("deliveries of an address", func(t *testing.T) {
		b := open.open(t, small)
		id := b.deliver("0", "a")
		for i := range 4 {
			b.deliver(fmt.Sprint(i), "a")
		}
		b.turnAway("x", "a")
		b.turnAway("", "a")
		b.acknowledge(1, id)
		b.deliver("y", "a")
		b.turnAway("z", "a")
		b.deliver("another's", "b")
	})
	t.Run("deliveries in all", func(t *testing.T) {
		b := open.open(t, small)
		id := b.deliver("first", "a")
		for i := range 7 {
			b.deliver("x", fmt.Sprint(i))
		}
		b.turnAway("x", "z")
		b.turnAway("", "z")
		b.acknowledge(1, id)
		b.deliver("y", "z")
		b.turnAway("z", "z")
	})
	t.Run("one past in all, alone", func(t *testing.T) {
		b := open.open(t, hookCaps(storage.HookCaps{Deliveries: 1, Bytes: 10, HookDeliveries: 5, HookBytes: 1000}))
		b.turnAway(body("over", 11), "a")
		b.deliver(body("edge", 10), "a")
	})
}

func testSeparateCaps(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) {
		o.Caps = storage.Caps{RecipientBytes: 100, TotalBytes: 100, RecipientMessages: 2, TotalMessages: 2, Challenges: 1}
		o.Hooks = storage.HookCaps{Deliveries: 2, Bytes: 100, HookDeliveries: 2, HookBytes: 100}
	})
	ids := b.deposit(body("mail", 100), "ann")
	b.refuse("x", "ann")
	id := b.deliver(body("delivery", 100), "a")
	b.turnAway("x", "a")
	b.remove(1, "ann", ids...)
	b.turnAway("x", "a")
	b.deposit(body("mail", 100), "ann")
	b.acknowledge(1, id)
	b.refuse("x", "ann")
	b.deliver("x", "a")
	b.wantTotals(100, 1)
	b.wantHookTotals(1, 1)
	b.acknowledge(0, ids...)
	b.remove(0, "ann", id)
}

func testHookSweep(t *testing.T, open Open) {
	t.Run("of the address", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Hooks.HookDeliveries = 40 })
		for i := range 100 { // older than what is in the way: swept first in any case
			b.deliver(fmt.Sprint("old ", i), fmt.Sprint("other", i))
		}
		for i := range 40 {
			b.deliver(fmt.Sprint("old ", i), "a")
		}
		b.turnAway("one more", "a")
		b.clock.Advance(time.Hour)
		b.deliver("one more", "a")
		b.waits("one more")
	})
	t.Run("of all", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Hooks.Bytes, o.Hooks.HookBytes = 100_000, 100_000 })
		for i := range 100 {
			b.deliver(body(fmt.Sprint("old ", i), 1000), fmt.Sprint("other", i))
		}
		b.turnAway("x", "a")
		b.clock.Advance(time.Hour)
		b.deliver(body("as much as there is", 100_000), "a")
		b.wantHookTotals(1, 100_000)
	})
	t.Run("by other deliveries", func(t *testing.T) {
		b := open.open(t, nil)
		for i := range 100 {
			b.deliver(body("never fetched", 3000*(i%2)+100), fmt.Sprint("nobody", i))
		}
		b.clock.Advance(2 * time.Hour)
		for i := range 50 {
			b.deliver("new", fmt.Sprint("a", i))
		}
		b.wantHookTotals(50, 150)
	})
	t.Run("behind one that came late", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Hooks.Deliveries = 2 })
		late := b.reserve("late", "a")
		b.deliver("old", "a")
		b.clock.Advance(30 * time.Minute)
		b.keep(late)
		b.turnAway("new", "b")
		b.clock.Advance(30 * time.Minute)
		b.deliver("new", "b")
		b.deliver("newer", "b")
		b.waits("new", "newer")
	})
}

func testHookNoEviction(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.Hooks.HookBytes, o.Hooks.Bytes = 3000, 4000 })
	b.deliver(body("old", 1000), "a")
	b.clock.Advance(30 * time.Minute)
	b.deliver(body("young", 2000), "a")
	b.turnAway("x", "a")
	b.clock.Advance(30 * time.Minute) // the old one expires, the young one does not
	b.turnAway(body("too much", 1001), "a")
	b.waits(body("young", 2000))
	b.deliver(body("new", 1000), "a")
	b.waits(body("young", 2000), body("new", 1000))
}

func testHookExpiry(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.MessageTTL = time.Minute })
	id := b.deliver("first", "a")
	b.clock.Advance(time.Minute)
	b.deliver("second", "a")
	b.clock.Advance(59*time.Minute - time.Millisecond)
	b.waits("first", "second")
	b.clock.Advance(time.Millisecond)
	b.waits("second")
	if sealed, err := b.Hooks.Sealed(t.Context(), id); err == nil {
		t.Errorf("an expired delivery can be read: %q", sealed)
	}
	b.acknowledge(0, id) // expired is gone
	b.wantHookTotals(1, 6)
	b.clock.Advance(time.Minute)
	b.waits()
}

func testHookSteps(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.deliver("before", "a")
	b.clock.Step(30 * 365 * 24 * time.Hour)
	b.deliver("in the future", "a")
	b.clock.Step(-60 * 365 * 24 * time.Hour)
	b.deliver("in the past", "a")
	b.waits("before", "in the future", "in the past")
	b.clock.Advance(time.Hour)
	b.waits()
	b.deliver("after", "a")
	b.wantHookTotals(1, 5)
}
