package storagetest

import (
	"fmt"
	"testing"
	"time"
)

// RunDurableHooks drives what an engine keeps for webhooks through what must hold
// over the end of a process. Each test gets a place of its own from at.
func RunDurableHooks(t *testing.T, at func(t testing.TB) Durable) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Durable)
	}{
		{"deliveries and addresses outlive an orderly stop", func(t *testing.T, d Durable) { testHooksOutlive(t, d, false) }},
		{"deliveries and addresses outlive a crash", func(t *testing.T, d Durable) { testHooksOutlive(t, d, true) }},
		{"no id comes again after an orderly stop", func(t *testing.T, d Durable) { testIDsOutlive(t, d, false) }},
		{"no id comes again after a crash", func(t *testing.T, d Durable) { testIDsOutlive(t, d, true) }},
		{"deliveries age over restarts and reboots", testHooksAge},
		{"a boot in the past or the future loses no delivery", testHooksWrongBoot},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, at(t)) })
	}
}

func testHooksOutlive(t *testing.T, d Durable, crash bool) {
	b := d.Open.open(t, nil)
	b.register("0", "1", "2")
	var want []string
	for i := range 40 {
		sealed := body(fmt.Sprint("delivery ", i), 50+i*i*60)
		id := b.deliver(sealed, fmt.Sprint(i%4))
		if i%3 == 0 {
			b.acknowledge(1, id)
			continue
		}
		want = append(want, sealed)
	}
	held, before := b.hookTotals(), b.parcels("")
	for range 3 {
		b = d.again(b, crash)
		b.waits(want...)
		b.wantRegistered("0", "1", "2")
		if got := b.hookTotals(); got != held {
			t.Fatalf("after a restart the store holds deliveries of %+v; want %+v", got, held)
		}
	}
	b.waitsAfter(before[len(before)-2].id, want[len(want)-1])
	b.acknowledge(1, before[0].id)
	b.deliver("newest", "1")
	b.register("3")
	b = d.again(b, crash)
	b.waits(append(want[1:], "newest")...)
	b.wantRegistered("3")
}

// testIDsOutlive: an id sorts behind each that was ever kept, also when that is gone,
// and equals none, kept or not.
func testIDsOutlive(t *testing.T, d Durable, crash bool) {
	b := d.Open.open(t, nil)
	seen, newest := map[string]bool{}, ""
	for range 5 {
		for i := range 20 {
			r := b.reserve("", "a")
			if seen[r.ID] {
				t.Fatalf("%s was reserved twice", r.ID)
			}
			if seen[r.ID] = true; r.ID <= newest {
				t.Fatalf("%s was reserved when %s had been kept", r.ID, newest)
			}
			if i < 10 { // the others are reserved in vain
				b.keep(r)
				b.acknowledge(1, r.ID)
				newest = r.ID
			}
		}
		b = d.again(b, crash)
	}
}

func testHooksAge(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.deliver("old", "a")
	b.clock.Advance(30 * time.Minute)
	b.deliver("young", "a")
	d.stop(b, true)
	b.clock.Step(-100 * time.Hour)
	b.clock.Advance(30 * time.Minute)
	b = d.resume(b)
	b.waits("young")

	b.clock.Step(100 * time.Hour)
	b.deliver("new", "a")
	d.stop(b, false)
	b.clock.Reboot("boot-2", 40*time.Minute)
	b.clock.SetSynced(false)
	b = d.resume(b)
	b.waits("young", "new") // nobody can tell yet how long it was off
	b.clock.SetSynced(true)
	b.waits("new")
	b.clock.Advance(20 * time.Minute)
	b.waits()
	b.deliver("newest", "a")
	b.wantHookTotals(1, 6)
}

func testHooksWrongBoot(t *testing.T, d Durable) {
	b := d.Open.open(t, nil)
	b.deliver("kept", "a")
	d.stop(b, true)
	year := 365 * 24 * time.Hour
	for i, wrong := range []time.Duration{-56 * year, 90 * year, -90 * year} {
		b.clock.Reboot(fmt.Sprint("boot ", i), time.Minute)
		b.clock.SetSynced(false)
		b.clock.Step(wrong)
		b = d.resume(b)
		b.deliver("arrived in a wrong year", "a")
		for _, p := range b.parcels("") {
			if p.received.Before(start) {
				t.Errorf("received %v, before the newest time that could be believed", p.received)
			}
		}
		d.stop(b, true)
	}
	b.clock.Step(56 * year)
	b.clock.SetSynced(true)
	b = d.resume(b)
	if got := len(b.parcels("")); got != 4 {
		t.Fatalf("%d deliveries after four boots; want 4", got)
	}
	b.clock.Advance(time.Hour)
	b.deliver("new", "a")
	b.wantHookTotals(1, 3)
}
