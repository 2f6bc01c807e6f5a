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

// Run drives an engine through everything that all engines promise.
func Run(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"bodies come back byte for byte", testBodies},
		{"one envelope for many is one each", testSharing},
		{"arrival order whatever the clock does", testOrder},
		{"only the recipient's own mail is removed", testIsolation},
		{"removing twice removes once", testIdempotence},
		{"a list is what was there when it began", testListing},
		{"a list begins after any id, gone or not", testAfter},
		{"a list begins after no foreign id", testForeignAfter},
		{"pages skip and repeat nothing", testPages},
		{"each cap is exact", testCaps},
		{"all recipients or none", testAllOrNone},
		{"a refusal comes after real sweeping only", testSweepBeforeRefusal},
		{"what has not expired is never evicted", testNoEviction},
		{"mailboxes that nobody polls are swept by writes", testSweepOnWrite},
		{"expired mail is never shown", testExpiry},
		{"no step of the clock expires anything", testSteps},
		{"concurrent deposits and removals add up", testConcurrency},
		{"any sequence of calls does as a list on paper", testModel},
		{"who tries again after a fault loses nothing", testFaults},
		{"a caller who left is not served", testCancelled},
		{"a closed engine says so", testClosed},
		{"challenges live once", testChallenges},
		{"live challenges have a ceiling", testChallengeCeiling},
		{"a holder of challenges has its most", testChallengeHolders},
		{"one of many wins a challenge", testChallengeRace},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open) })
	}
}

func testBodies(t *testing.T, open Open) {
	b := open.open(t, nil)
	var want []string
	for _, n := range []int{0, 1, 600, 2047, 2048, 2049, 4096, 32_741, 32_742, 32_743, 65_484, 65_485, 200_000, 700_000} {
		want = append(want, body(fmt.Sprintf("body of %d", n), n))
	}
	for i, w := range want {
		raw := []byte(w)
		if _, err := b.Mail.Add(t.Context(), storage.Envelope{Recipients: []string{fmt.Sprint("ann", i%2)}, Body: raw}); err != nil {
			t.Fatal(err)
		}
		for i := range raw { // the engine must not hold on to the caller's bytes
			raw[i] = 'x'
		}
	}
	for i := range 2 {
		var mine []string
		for j := i; j < len(want); j += 2 {
			mine = append(mine, want[j])
		}
		b.holds(fmt.Sprint("ann", i), mine...)
	}
	b.totals()
}

func testSharing(t *testing.T, open Open) {
	for _, size := range []int{10, 5000, 100_000} {
		b := open.open(t, nil)
		text := body("for three", size)
		ids := b.deposit(text, "ann", "bob", "ann", "cid")
		if len(ids) != 3 || ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
			t.Fatalf("ids of one envelope for three, one of them twice: %v", ids)
		}
		b.wantTotals(3*int64(size), 3)
		for i, who := range []string{"ann", "bob", "cid"} {
			b.holds(who, text)
			if got := b.list(who)[0].id; got != ids[i] {
				t.Errorf("%s fetches id %s; the deposit said %s", who, got, ids[i])
			}
		}
		b.remove(1, "bob", ids[1])
		b.holds("bob")
		b.holds("ann", text)
		b.holds("cid", text)
		b.wantTotals(2*int64(size), 2)
		b.remove(1, "ann", ids[0])
		b.remove(1, "cid", ids[2])
		b.wantTotals(0, 0)
	}
}

func testOrder(t *testing.T, open Open) {
	b := open.open(t, nil)
	var want []string
	for i, step := range []time.Duration{0, -time.Hour, 48 * time.Hour, -50 * 365 * 24 * time.Hour, time.Minute} {
		b.clock.Step(step)
		text := body(fmt.Sprint("message ", i), 100*i+10)
		b.deposit(text, "ann")
		want = append(want, text)
	}
	b.holds("ann", want...)
	if got := b.list("ann")[0].received; !got.Equal(start) || got.Location() != time.UTC {
		t.Errorf("received %v; want %v in UTC", got, start)
	}
}

func testIsolation(t *testing.T, open Open) {
	b := open.open(t, nil)
	anns, bobs := b.deposit("for ann", "ann"), b.deposit("for bob", "bob")
	b.remove(0, "ann", bobs...)
	b.remove(0, "bob", anns...)
	b.remove(0, "eve", anns[0], bobs[0])
	b.remove(0, "an", anns...)
	b.remove(0, "", anns...)
	b.holds("ann", "for ann")
	b.holds("bob", "for bob")
	b.holds("eve")
	b.remove(1, "ann", anns[0], bobs[0])
	b.holds("ann")
	b.holds("bob", "for bob")
}

func testIdempotence(t *testing.T, open Open) {
	b := open.open(t, nil)
	ids := append(b.deposit("one", "ann"), b.deposit("two", "ann")...)
	b.deposit("three", "ann")
	b.remove(0, "ann")
	b.remove(0, "ann", "", "no id", uuid.NewString(), "00000000-0000-0000-0000-000000000000", ids[0]+" ", "{"+ids[0]+"}")
	b.remove(2, "ann", ids[0], ids[1], ids[0], "no id", ids[1])
	b.remove(0, "ann", ids...)
	b.holds("ann", "three")
	b.wantTotals(5, 1)

	var many []string
	for i := range 200 {
		many = append(many, b.deposit(fmt.Sprint("many ", i), "bob")...)
	}
	b.remove(200, "bob", many...)
	b.wantTotals(5, 1)
}

func testListing(t *testing.T, open Open) {
	b := open.open(t, nil)
	for i := range 3 {
		b.deposit(fmt.Sprint("before ", i), "ann")
	}
	ids := b.list("ann")
	var got []string
	for m, err := range b.Mail.List(t.Context(), "ann", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.read(m).body)
		if len(got) == 1 {
			b.deposit("after", "ann")
			b.remove(1, "ann", ids[1].id)
		}
	}
	if fmt.Sprint(got) != "[before 0 before 2]" {
		t.Errorf("a list during which one arrived and one left: %v", got)
	}
	b.holds("ann", "before 0", "before 2", "after")
	for range b.Mail.List(t.Context(), "ann", "") {
		break // a reader may stop early
	}
}

func testCaps(t *testing.T, open Open) {
	small := func(o *storage.Options) {
		o.Caps = storage.Caps{RecipientBytes: 1000, TotalBytes: 2500, RecipientMessages: 5, TotalMessages: 8, Challenges: 1}
	}
	t.Run("bytes of a mailbox", func(t *testing.T) {
		b := open.open(t, small)
		b.refuse(body("over", 1001), "ann")
		ids := b.deposit(body("a", 400), "ann")
		b.deposit(body("b", 600), "ann")
		b.refuse("x", "ann")
		b.deposit("", "ann") // nothing fits in nothing
		b.remove(1, "ann", ids...)
		b.refuse(body("c", 401), "ann")
		b.deposit(body("c", 400), "ann")
		b.wantTotals(1000, 3)
	})
	t.Run("bytes in all", func(t *testing.T) {
		b := open.open(t, small)
		ids := b.deposit(body("a", 1000), "ann")
		b.deposit(body("b", 1000), "bob")
		b.refuse(body("c", 501), "cid")
		b.refuse(body("c", 251), "cid", "dan")
		b.deposit(body("c", 500), "cid")
		b.refuse("x", "dan")
		b.remove(1, "ann", ids...)
		b.deposit(body("d", 1000), "dan")
		b.refuse("x", "eve")
		b.wantTotals(2500, 3)
	})
	t.Run("messages of a mailbox", func(t *testing.T) {
		b := open.open(t, small)
		ids := b.deposit("0", "ann")
		for i := range 4 {
			b.deposit(fmt.Sprint(i), "ann")
		}
		b.refuse("x", "ann")
		b.refuse("", "ann")
		b.remove(1, "ann", ids...)
		b.deposit("y", "ann")
		b.refuse("z", "ann")
	})
	t.Run("messages in all", func(t *testing.T) {
		b := open.open(t, small)
		b.deposit("shared", "1", "2", "3", "4", "5", "6")
		b.refuse("x", "7", "8", "9")
		b.deposit("x", "7", "8")
		b.refuse("x", "9")
		b.remove(1, "3", b.list("3")[0].id)
		b.deposit("y", "9")
		b.refuse("z", "10")
	})
}

func testAllOrNone(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.Caps.RecipientBytes = 10_000 })
	b.deposit(body("fills bob", 9_500), "bob")
	b.refuse(body("for all", 501), "ann", "bob", "cid")
	b.holds("ann")
	b.holds("cid")
	b.wantTotals(9_500, 1)
	b.deposit(body("for all", 500), "ann", "bob", "cid")
	b.holds("cid", body("for all", 500))
	b.wantTotals(11_000, 4)
}

func testSweepBeforeRefusal(t *testing.T, open Open) {
	t.Run("of the mailbox", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Caps.RecipientMessages = 40 })
		for i := range 100 { // older than ann's: what is swept first in any case
			b.deposit(fmt.Sprint("old ", i), fmt.Sprint("other", i))
		}
		for i := range 40 {
			b.deposit(fmt.Sprint("old ", i), "ann")
		}
		b.refuse("one more", "ann")
		b.clock.Advance(time.Hour)
		b.deposit("one more", "ann")
		b.holds("ann", "one more")
	})
	t.Run("of the store", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Caps.TotalBytes = 100_000; o.Caps.RecipientBytes = 100_000 })
		for i := range 100 {
			b.deposit(body(fmt.Sprint("old ", i), 1000), fmt.Sprint("other", i))
		}
		b.refuse("x", "ann")
		b.clock.Advance(time.Hour)
		b.deposit(body("as much as there is", 100_000), "ann")
		b.wantTotals(100_000, 1)
	})
	t.Run("of a shared envelope", func(t *testing.T) {
		b := open.open(t, func(o *storage.Options) { o.Caps.TotalMessages = 3 })
		ids := b.deposit(body("shared", 5000), "ann", "bob", "cid")
		b.remove(1, "bob", ids[1])
		b.refuse("x", "1", "2")
		b.clock.Advance(time.Hour)
		b.deposit("x", "1", "2", "3")
		b.wantTotals(3, 3)
	})
}

func testNoEviction(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.Caps.RecipientBytes = 3000; o.Caps.TotalBytes = 4000 })
	b.deposit(body("old", 1000), "ann")
	b.clock.Advance(30 * time.Minute)
	b.deposit(body("young", 2000), "ann")
	b.refuse("x", "ann")
	b.clock.Advance(30 * time.Minute) // the old one expires, the young one does not
	b.refuse(body("too much", 1001), "ann")
	b.holds("ann", body("young", 2000))
	b.deposit(body("new", 1000), "ann")
	b.holds("ann", body("young", 2000), body("new", 1000))
}

func testSweepOnWrite(t *testing.T, open Open) {
	b := open.open(t, nil)
	for i := range 100 {
		b.deposit(body("never fetched", 3000*(i%2)+100), fmt.Sprint("nobody", i))
	}
	b.deposit("shared", "nobody", "no one", "none")
	b.clock.Advance(2 * time.Hour)
	for i := range 50 {
		b.deposit("new", fmt.Sprint("ann", i))
	}
	b.wantTotals(150, 50)
}

func testExpiry(t *testing.T, open Open) {
	b := open.open(t, nil)
	ids := b.deposit("first", "ann")
	b.clock.Advance(time.Minute)
	b.deposit("second", "ann")
	b.clock.Advance(59*time.Minute - time.Millisecond)
	b.holds("ann", "first", "second")
	b.clock.Advance(time.Millisecond)
	b.holds("ann", "second")
	b.remove(0, "ann", ids...) // expired is gone
	b.clock.Advance(time.Minute)
	b.holds("ann")
}

func testSteps(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.deposit("before", "ann")
	b.clock.Step(30 * 365 * 24 * time.Hour)
	b.deposit("in the future", "ann")
	b.clock.Step(-60 * 365 * 24 * time.Hour)
	b.deposit("in the past", "ann")
	b.holds("ann", "before", "in the future", "in the past")
	b.clock.Advance(time.Hour)
	b.holds("ann")
	b.deposit("after", "ann")
	b.wantTotals(5, 1)
}

func testConcurrency(t *testing.T, open Open) {
	b := open.open(t, nil)
	var g sync.WaitGroup
	for w := range 8 {
		g.Go(func() {
			me := fmt.Sprint("ann", w%3)
			for i := range 30 {
				text := body(fmt.Sprint("message ", w, ".", i), 10+700*(i%5))
				ids, err := b.add(text, me, "everyone")
				if err != nil {
					t.Errorf("depositing: %v", err)
					return
				}
				if i%2 == 0 {
					if n, err := b.Mail.Remove(t.Context(), me, ids); n != 1 || err != nil {
						t.Errorf("removing what was just deposited: %d, %v", n, err)
					}
				}
				if i%10 == 0 {
					b.totals0()
				}
			}
		})
	}
	g.Wait()
	b.totals()
	if got := len(b.list("everyone")); got != 8*30 {
		t.Errorf("everyone has %d messages; want %d", got, 8*30)
	}
}

// totals0 recounts while others write.
func (b *bench) totals0() {
	if _, err := b.Ledger.Recount(b.Context()); err != nil {
		b.Errorf("recount while others write: %v", err)
	}
}

func testCancelled(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.deposit("kept", "ann")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if ids, err := b.Mail.Add(gone, storage.Envelope{Recipients: []string{"ann"}, Body: []byte("late")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Add for a caller who left = %v, %v; want %v", ids, err, context.Canceled)
	}
	for _, err := range b.Mail.List(gone, "ann", "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List for a caller who left: %v; want %v", err, context.Canceled)
		}
	}
	b.holds("ann", "kept")
}

func testClosed(t *testing.T, open Open) {
	b := open.open(t, nil)
	ids := b.deposit("kept", "ann")
	if err := b.Mail.Ready(t.Context()); err != nil {
		t.Errorf("Ready of an open engine: %v", err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	_, errAdd := b.add("late", "ann")
	_, errRemove := b.Mail.Remove(t.Context(), "ann", ids)
	var errList error
	for _, errList = range b.Mail.List(t.Context(), "ann", "") {
	}
	_, errConsume := b.Challenges.Consume(t.Context(), "any")
	for call, err := range map[string]error{
		"Add": errAdd, "Remove": errRemove, "List": errList, "Ready": b.Mail.Ready(t.Context()),
		"Issue": b.Challenges.Issue(t.Context(), "any"), "Consume": errConsume,
	} {
		if !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s of a closed engine: %v; want %v", call, err, storage.ErrClosed)
		}
	}
}
