package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
)

// Durable is an engine that keeps mail beyond its process, at one place.
type Durable struct {
	// Open opens the engine at its place.
	Open Open
	// Crash takes what is on the disk now, as a crash would leave it, and makes
	// that the place's content. The engine that was open is of no more use.
	Crash func(t testing.TB)
}

// RunDurable drives an engine through what must hold over the end of a process.
// Each test gets a place of its own from at.
func RunDurable(t *testing.T, at func(t testing.TB) Durable) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Durable)
	}{
		{"mail and removals outlive an orderly stop", func(t *testing.T, d Durable) { testOutlive(t, d, false) }},
		{"mail and removals outlive a crash", func(t *testing.T, d Durable) { testOutlive(t, d, true) }},
		{"live challenges outlive an orderly stop, once", testChallengesOutlive},
		{"challenges that outlive a stop are nobody's", testChallengesOutliveTheirHolders},
		{"no challenge outlives a crash", testChallengesCrash},
		{"a spent challenge stays spent over stop, start, crash, start", testSpentStaysSpent},
		{"challenges expire while nothing runs", testChallengesExpireAway},
		{"mail ages over a restart in one boot", testAgesInBoot},
		{"mail ages over a reboot by a synchronised clock", testAgesOverReboot},
		{"a clock that cannot be believed ages nothing", testUnbelieved},
		{"a boot in the past or the future loses nothing", testWrongBoot},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, at(t)) })
	}
}

// stop ends the engine in order, or by a crash.
func (d Durable) stop(b *bench, crash bool) {
	b.Helper()
	if crash {
		d.Crash(b.TB)
		return
	}
	if err := b.Close(); err != nil {
		b.Fatalf("Close: %v", err)
	}
}

func (d Durable) again(b *bench, crash bool) *bench {
	b.Helper()
	d.stop(b, crash)
	return d.resume(b)
}

func (d Durable) resume(b *bench) *bench {
	return &bench{b.TB, d.Open(b.TB, Options(b.clock)), b.clock}
}

func testOutlive(t *testing.T, d Durable, crash bool) {
	b := d.Open.open(t, nil)
	var want []string
	for i := range 40 {
		text := body(fmt.Sprint("message ", i), 50+i*i*60)
		ids := b.deposit(text, "ann", fmt.Sprint("bob", i%4))
		if i%3 == 0 {
			b.remove(1, "ann", ids[0])
			continue
		}
		want = append(want, text)
	}
	held, ids := b.totals(), b.list("ann")
	for range 3 {
		b = d.again(b, crash)
		b.holds("ann", want...)
		if got := b.totals(); got != held {
			t.Fatalf("after a restart the store holds %+v; want %+v", got, held)
		}
	}
	b.holdsAfter("ann", ids[len(ids)-2].id, want[len(want)-1]) // ids hold over a restart, and so do their places
	b.remove(1, "ann", ids[0].id)
	b.deposit("newest", "ann")
	b = d.again(b, crash)
	b.holds("ann", append(want[1:], "newest")...)
}

func testChallengesOutlive(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.issue("spent")
	b.issue("kept")
	b.issue("kept twice")
	b.consume(true, "spent")
	b = d.again(b, false)
	b.consume(false, "spent")
	b.consume(true, "kept")
	b.consume(false, "kept")
	b = d.again(b, false)
	b.consume(false, "kept")
	b.consume(true, "kept twice")
}

func testChallengesOutliveTheirHolders(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	ann := storage.Holder{Name: "ann", Most: 1}
	b.issue("before", ann)
	b = d.again(b, false)
	b.issue("after", ann)
	b.consume(true, "before")
	b.consume(true, "after")
}

func testChallengesCrash(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.deposit("so that there is a commit", "ann")
	b.issue("lost")
	b = d.again(b, true)
	b.consume(false, "lost")
	b.issue("kept")
	b = d.again(b, false)
	b = d.again(b, true) // restored, and lost with the process
	b.consume(false, "kept")
}

func testSpentStaysSpent(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.issue("once")
	b = d.again(b, false)
	b.consume(true, "once")
	b = d.again(b, true)
	b.consume(false, "once")
	b = d.again(b, false)
	b.consume(false, "once")
}

func testChallengesExpireAway(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.issue("old")
	b.clock.Advance(3 * time.Minute)
	b.issue("young")
	d.stop(b, false)
	b.clock.Advance(2 * time.Minute)
	b = d.resume(b)
	b.consume(false, "old")
	b.consume(true, "young")

	b.issue("before a reboot")
	d.stop(b, false)
	b.clock.Reboot("boot-2", time.Minute)
	b.clock.SetSynced(false) // who knows how long it was off
	b = d.resume(b)
	b.consume(false, "before a reboot")
}

func testAgesInBoot(t *testing.T, d Durable) {
	for _, crash := range []bool{false, true} {
		b := d.Open.open(t, nil)
		b.clock.SetSynced(false)
		b.deposit("old", "ann")
		b.clock.Advance(30 * time.Minute)
		b.deposit("young", "ann")
		d.stop(b, crash)
		b.clock.Step(-100 * time.Hour)
		b.clock.Advance(30 * time.Minute)
		b = d.resume(b)
		b.holds("ann", "young")
		b.clock.Advance(30 * time.Minute)
		b.holds("ann")
		d.stop(b, false)
	}
}

func testAgesOverReboot(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.deposit("old", "ann")
	b.clock.Advance(30 * time.Minute)
	b.deposit("young", "ann")
	d.stop(b, true)
	b.clock.Reboot("boot-2", 40*time.Minute)
	b.clock.SetSynced(false)
	b = d.resume(b)
	b.holds("ann", "old", "young") // nobody can tell yet how long it was off
	b.clock.SetSynced(true)
	b.holds("ann", "young")
	b.clock.Advance(20 * time.Minute)
	b.holds("ann")
}

func testUnbelieved(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.clock.SetSynced(false)
	b.deposit("one", "ann")
	d.stop(b, false)
	b.clock.Reboot("boot-2", 1000*time.Hour)
	b = d.resume(b)
	b.holds("ann", "one")
	b.clock.SetSynced(true) // there is no earlier moment to count from
	b.holds("ann", "one")
	b.clock.Advance(time.Hour)
	b.holds("ann")
}

func testWrongBoot(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.deposit("kept", "ann")
	d.stop(b, true)
	year := 365 * 24 * time.Hour
	for i, wrong := range []time.Duration{-56 * year, 90 * year, -90 * year} {
		b.clock.Reboot(fmt.Sprint("boot ", i), time.Minute)
		b.clock.SetSynced(false)
		b.clock.Step(wrong)
		b = d.resume(b)
		b.deposit("arrived in a wrong year", "ann")
		for _, l := range b.list("ann") {
			if l.received.Before(start) {
				t.Errorf("received %v, before the newest time that could be believed", l.received)
			}
		}
		d.stop(b, true)
	}
	b.clock.Step(56 * year)
	b.clock.SetSynced(true)
	b = d.resume(b)
	if got := len(b.list("ann")); got != 4 {
		t.Fatalf("%d messages after four boots; want 4", got)
	}
	b.clock.Advance(time.Hour) // sweeping goes on once time is right
	b.deposit("new", "ann")
	b.wantTotals(3, 1)
}

// The suites are driven by fakes of storage.Clock alone.
var _ storage.Clock = (*clock.Fake)(nil)
