package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/holdmail/holdmail/storage"
)

// RunHooks drives what an engine keeps for webhooks through everything that all
// engines promise of it.
func RunHooks(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"what is sealed comes back byte for byte", testSealed},
		{"ids sort as they were reserved and never repeat", testReserve},
		{"who is slow to seal keeps the place", testLate},
		{"an id is good for one delivery", testOneDelivery},
		{"acknowledging twice removes once", testAcknowledge},
		{"a list of deliveries is what was there when it began", testHookListing},
		{"a list of deliveries begins after any id", testHookAfter},
		{"each cap on deliveries is exact", testHookCaps},
		{"mail and deliveries leave each other room", testSeparateCaps},
		{"a delivery is refused after real sweeping only", testHookSweep},
		{"no delivery that has not expired is evicted", testHookNoEviction},
		{"an expired delivery is never shown", testHookExpiry},
		{"no step of the clock expires a delivery", testHookSteps},
		{"addresses are registered as one set", testRegister},
		{"concurrent deliveries and acknowledgements add up", testHookConcurrency},
		{"any sequence of calls on deliveries does as a list on paper", testHookModel},
		{"who tries a delivery again after a fault loses nothing", testHookFaults},
		{"a sender who left is not served", testHookCancelled},
		{"a closed engine says so of deliveries", testHookClosed},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open) })
	}
}

func testSealed(t *testing.T, open Open) {
	b := open.open(t, nil)
	var want []string
	for _, n := range []int{0, 1, 600, 2047, 2048, 2049, 4096, 32_741, 32_742, 32_743, 65_484, 65_485, 200_000, 700_000} {
		d := b.reserve(body(fmt.Sprintf("delivery of %d", n), n), fmt.Sprint("hook ", n%3))
		want = append(want, string(d.Sealed))
		b.keep(d)
		for i := range d.Sealed { // the engine must not hold on to the caller's bytes
			d.Sealed[i] = 'x'
		}
		got := b.parcels("")
		if last := got[len(got)-1]; last.id != d.ID || last.hook != d.Hook || !last.received.Equal(start) || last.received.Location() != time.UTC {
			t.Errorf("%s of %x, received %v, is listed as %s of %x, received %v", d.ID, d.Hook[:4], start, last.id, last.hook[:4], last.received)
		}
	}
	b.waits(want...)
	sealed, err := b.Hooks.Sealed(t.Context(), b.parcels("")[3].id)
	if err != nil || len(sealed) == 0 {
		t.Fatal(err)
	}
	sealed[0] = 'x' // nor give its own away
	b.waits(want...)
	b.hookTotals()
}

func testReserve(t *testing.T, open Open) {
	b := open.open(t, nil)
	seen, last := map[string]bool{}, ""
	for i := range 300 {
		d := b.reserve("", "hook")
		if d.ID <= last || seen[d.ID] {
			t.Fatalf("id %d is %s, after %s", i, d.ID, last)
		}
		if !d.Received.Equal(b.clock.Now()) || d.Received.Location() != time.UTC {
			t.Fatalf("received %v at %v", d.Received, b.clock.Now())
		}
		seen[d.ID], last = true, d.ID
		b.clock.Step(time.Duration(i%7-3) * time.Hour)
	}
	b.waits()
	b.wantHookTotals(0, 0)
}

func testLate(t *testing.T, open Open) {
	b := open.open(t, nil)
	first, second, third := b.reserve("first", "a"), b.reserve("second", "b"), b.reserve("third", "a")
	b.keep(second)
	b.keep(third)
	b.waits("second", "third")
	b.keep(first)
	b.waits("first", "second", "third")
	b.acknowledge(1, second.ID)
	b.waitsAfter(first.ID, "third")

	late := b.reserve("late", "a")
	b.clock.Advance(20 * time.Minute)
	b.deliver("in time", "a")
	b.clock.Advance(20 * time.Minute)
	b.keep(late) // ages with the one that stands behind it, no longer than since it was reserved
	b.clock.Advance(40*time.Minute - time.Millisecond)
	b.waits("late", "in time")
	b.clock.Advance(time.Millisecond)
	b.waits()
	b.deliver("new", "a")
	b.wantHookTotals(1, 3)
}

func testOneDelivery(t *testing.T, open Open) {
	b := open.open(t, nil)
	d := b.reserve("first", "hook")
	b.keep(d)
	again := d
	again.Sealed = []byte("second")
	if err := b.Hooks.Add(t.Context(), again); err == nil {
		t.Error("an id was good for two deliveries")
	}
	for _, id := range []string{"", "no id", uuid.NewString(), d.ID + "0", "0000ffff" + d.ID[8:]} {
		again.ID = id
		if err := b.Hooks.Add(t.Context(), again); err == nil {
			t.Errorf("a delivery was kept under %q, which was never reserved", id)
		}
	}
	b.waits("first")
	b.wantHookTotals(1, 5)
}

func testAcknowledge(t *testing.T, open Open) {
	b := open.open(t, nil)
	one, two := b.deliver("one", "a"), b.deliver(body("two", 5000), "b")
	b.deliver("three", "a")
	b.acknowledge(0)
	b.acknowledge(0, "", "no id", uuid.NewString(), one+"0", b.reserve("", "a").ID)
	b.acknowledge(2, one, two, one, "no id", two)
	b.acknowledge(0, one, two)
	b.waits("three")
	b.wantHookTotals(1, 5)
	for _, id := range []string{one, two, "", "no id", b.reserve("", "a").ID} {
		if sealed, err := b.Hooks.Sealed(t.Context(), id); !errors.Is(err, storage.ErrGone) {
			t.Errorf("Sealed(%q) = %q, %v; want %v", id, sealed, err, storage.ErrGone)
		}
	}
	var many []string
	for i := range 200 {
		many = append(many, b.deliver(body(fmt.Sprint("many ", i), 10+3000*(i%2)), "c"))
	}
	b.acknowledge(200, many...)
	b.wantHookTotals(1, 5)
}

func testHookListing(t *testing.T, open Open) {
	b := open.open(t, nil)
	var ids []string
	for i := range 3 {
		ids = append(ids, b.deliver(fmt.Sprint("before ", i), "hook"))
	}
	var got []string
	for k, err := range b.Hooks.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, k.ID); len(got) == 1 {
			b.deliver("after", "hook")
			b.acknowledge(1, ids[1])
		}
	}
	if fmt.Sprint(got) != fmt.Sprint([]string{ids[0], ids[2]}) {
		t.Errorf("a list during which one arrived and one left: %v", got)
	}
	b.waits("before 0", "before 2", "after")
	for range b.Hooks.List(t.Context(), "") {
		break // a reader may stop early
	}
}

func testHookAfter(t *testing.T, open Open) {
	b := open.open(t, nil)
	var ids []string
	for i := range 5 {
		ids = append(ids, b.deliver(fmt.Sprint(i), "hook"))
	}
	b.waitsAfter(ids[1], "2", "3", "4")
	b.waitsAfter(ids[4])
	b.acknowledge(3, ids[1], ids[2], ids[4])
	b.waitsAfter(ids[0], "3")
	b.waitsAfter(ids[1], "3")
	b.waitsAfter(ids[4])
	b.deliver("5", "hook")
	b.waitsAfter(ids[4], "5")
	for _, after := range []string{"no id", uuid.NewString(), ids[0] + "0", "g" + ids[0][1:]} {
		var got error
		n := 0
		for _, got = range b.Hooks.List(t.Context(), after) {
			n++
		}
		if n != 1 || !errors.Is(got, storage.ErrNotID) {
			t.Errorf("List after %q ends with %v in step %d; want %v in the first", after, got, n, storage.ErrNotID)
		}
	}
}

func testRegister(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.wantRegistered()
	b.register("a", "b", "a", "c")
	b.wantRegistered("a", "b", "c")
	b.deliver("kept", "b")
	b.deliver("unknown", "z")
	b.register("d", "c")
	b.wantRegistered("c", "d")
	b.waits("kept", "unknown")
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("hook ", i))
	}
	b.register(many...)
	b.wantRegistered(many...)
	b.register(many[:10]...)
	b.wantRegistered(many[:10]...)
	b.register()
	b.wantRegistered()
	b.wantHookTotals(2, 11)
}

func testHookConcurrency(t *testing.T, open Open) {
	b := open.open(t, nil)
	var g sync.WaitGroup
	for w := range 8 {
		g.Go(func() {
			for i := range 30 {
				id, received, err := b.Hooks.Reserve()
				if err != nil {
					t.Error(err)
					return
				}
				d := storage.Delivery{ID: id, Hook: address(fmt.Sprint(w % 3)), Received: received, Sealed: []byte(body(id, 10+700*(i%5)))}
				if err := b.Hooks.Add(t.Context(), d); err != nil {
					t.Errorf("adding: %v", err)
					return
				}
				if i%2 == 0 {
					if n, err := b.Hooks.Remove(t.Context(), []string{id}); n != 1 || err != nil {
						t.Errorf("removing what was just added: %d, %v", n, err)
					}
				}
				if i%10 == 0 {
					if _, err := b.HookLedger.Recount(t.Context()); err != nil {
						t.Errorf("recount while others write: %v", err)
					}
					if _, err := b.add("mail meanwhile", "ann"); err != nil {
						t.Errorf("depositing: %v", err)
					}
				}
			}
		})
	}
	g.Wait()
	b.hookTotals()
	all := b.parcels("")
	for i, p := range all {
		if p.sealed != body(p.id, len(p.sealed)) || (i > 0 && p.id <= all[i-1].id) {
			t.Errorf("delivery %d, %s, is out of order, or another's", i, p.id)
		}
	}
	if len(all) != 8*15 {
		t.Errorf("%d deliveries wait; want %d", len(all), 8*15)
	}
	b.wantTotals(8*3*14, 8*3)
}

func testHookCancelled(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.deliver("kept", "a")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Hooks.Add(gone, b.reserve("late", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("Add for a sender who left: %v; want %v", err, context.Canceled)
	}
	if err := b.Hooks.Register(gone, []storage.Hook{address("a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Register for a caller who left: %v; want %v", err, context.Canceled)
	}
	for _, err := range b.Hooks.List(gone, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List for a caller who left: %v; want %v", err, context.Canceled)
		}
	}
	b.waits("kept")
	b.wantRegistered()
}

func testHookClosed(t *testing.T, open Open) {
	b := open.open(t, nil)
	id, late := b.deliver("kept", "a"), b.reserve("late", "a")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, errReserve := b.Hooks.Reserve()
	_, errRemove := b.Hooks.Remove(t.Context(), []string{id})
	_, errSealed := b.Hooks.Sealed(t.Context(), id)
	_, errRegistered := b.Hooks.Registered(t.Context())
	_, errTotals := b.Hooks.Totals(t.Context())
	var errList error
	for _, errList = range b.Hooks.List(t.Context(), "") {
	}
	for call, err := range map[string]error{
		"Reserve": errReserve, "Add": b.Hooks.Add(t.Context(), late), "Remove": errRemove, "Sealed": errSealed,
		"List": errList, "Register": b.Hooks.Register(t.Context(), nil), "Registered": errRegistered, "Totals": errTotals,
	} {
		if !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s of a closed engine: %v; want %v", call, err, storage.ErrClosed)
		}
	}
}
