package ratelimit

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// crowd is a limiter with a bounded table, on a clock that stands still until it
// is moved.
type crowd struct {
	testing.TB
	*Limiter
	at time.Time
}

func newCrowd(t testing.TB, maxSources int, b Budget) *crowd {
	c := &crowd{TB: t, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.Limiter = New(Options{Budgets: map[Class]Budget{Read: b}, MaxSources: maxSources, Now: func() time.Time { return c.at }})
	return c
}

// stranger is the i-th of many sources that share no ceiling.
func stranger(i int) Source {
	var a [16]byte
	binary.BigEndian.PutUint16(a[:], 0x2001)
	binary.BigEndian.PutUint32(a[2:], uint32(i))
	return Source{
		Key:     netip.PrefixFrom(netip.AddrFrom16(a), 64),
		Ceiling: netip.PrefixFrom(netip.AddrFrom16(a), 48),
	}
}

func (c *crowd) take(from Source, cost int64, want bool) {
	c.Helper()
	_, err := c.Take(Read, from, cost)
	if _, refused := errors.AsType[*Refusal](err); refused == want || err != nil && !refused {
		c.Fatalf("Take(%v, %d) = %v, want granted: %t", from.Key, cost, err, want)
	}
}

// remembered is how many sources have a bucket, which both indexes must agree on.
func (c *crowd) remembered() int {
	c.Helper()
	t := c.classes[Read].keys
	if len(t.ring) != len(t.bucket) || len(t.ring) > t.max {
		c.Fatalf("%d buckets in the ring, %d by name, of %d at most", len(t.ring), len(t.bucket), t.max)
	}
	return len(t.ring)
}

func TestASourceIsForgottenWhenItsBucketIsFull(t *testing.T) {
	c := newCrowd(t, 100, Budget{PerSource: 10, Global: 1e6, Window: time.Minute})
	for i := range 100 {
		c.take(stranger(i), 1, true)
	}
	c.at = c.at.Add(6 * time.Second) // refills one
	for i := range 100 {
		c.take(stranger(1000+i), 10, true)
		c.take(stranger(1000+i), 1, false)
	}
	if n := c.remembered(); n != 100 {
		t.Errorf("%d are remembered, want the 100 that have spent", n)
	}
}

func TestTheTableShrinksWhenSourcesGoIdle(t *testing.T) {
	c := newCrowd(t, 1000, Budget{PerSource: 10, Global: 1e6, Window: time.Minute})
	for i := range 1000 {
		c.take(stranger(i), 10, true)
	}
	c.at = c.at.Add(time.Minute)
	for i := range 500 {
		c.take(stranger(2000+i), 10, true)
	}
	if n := c.remembered(); n != 500 {
		t.Errorf("%d are remembered, want the 500 that have spent", n)
	}
}

func TestANewSourceInAFullTableHasTheGlobalBudgetOnly(t *testing.T) {
	c := newCrowd(t, 4, Budget{PerSource: 10, Global: 100, Window: time.Minute})
	for i := range 4 {
		c.take(stranger(i), 10, true)
	}
	for range 6 {
		c.take(stranger(5), 10, true)
	}
	c.take(stranger(5), 1, false) // all have spent the global budget
	for i := range 4 {
		c.take(stranger(i), 1, false)
	}
	c.at = c.at.Add(time.Minute)
	c.take(stranger(5), 10, true)
	c.take(stranger(5), 1, false) // there is a place for it now
}

func TestThoseWhoOweDoNotHideThoseWhoAreIdle(t *testing.T) {
	c := newCrowd(t, 100, Budget{PerSource: 10, Global: 1e6, Window: time.Minute})
	for i := range 90 {
		c.take(stranger(i), 10, true)
	}
	for i := range 10 {
		c.take(stranger(100+i), 1, true)
	}
	c.at = c.at.Add(6 * time.Second) // refills the ten
	for i := range 100 {
		c.take(stranger(1000+i), 10, true)
	}
	kept := c.classes[Read].keys.bucket
	for i := range 90 {
		if kept[stranger(i).Key] == nil {
			t.Errorf("source %d owes, and was forgotten", i)
		}
	}
	if n := c.remembered(); n != 100 {
		t.Errorf("%d are remembered, want 100: ten places were free", n)
	}
}

func TestARefusedStrangerLeavesNoTrace(t *testing.T) {
	c := newCrowd(t, 100, Budget{PerSource: 10, Global: 10, Window: time.Minute})
	c.take(stranger(0), 10, true)
	for i := range 50 {
		c.take(stranger(1+i), 1, false)
	}
	if n := c.remembered(); n != 1 {
		t.Errorf("%d are remembered, want the one who has spent", n)
	}
}

// BenchmarkMillionSources has a million sources, each of which spends its whole
// budget at once: the worst there is, since none may be forgotten. Each takes two
// places, one of them for its ceiling.
func BenchmarkMillionSources(b *testing.B) {
	const sources, maxSources = 1_000_000, 1 << 16
	for b.Loop() {
		before := heap()
		c := newCrowd(b, maxSources, Budget{PerSource: 300, Global: 1 << 40, Window: time.Minute})
		began := time.Now()
		for i := range sources {
			c.take(stranger(i), 300, true)
		}
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/sources, "ns/source")
		if n := c.remembered(); n != maxSources {
			b.Fatalf("%d are remembered, want %d", n, maxSources)
		}
		b.ReportMetric(float64(heap()-before)/(2*maxSources), "B/entry")
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		runtime.KeepAlive(c)
	}
}

// BenchmarkTake is one call of a source that is known, over and over.
func BenchmarkTake(b *testing.B) {
	c := newCrowd(b, 1<<16, Budget{PerSource: 1 << 40, Global: 1 << 40, Window: time.Minute})
	for b.Loop() {
		c.take(stranger(1), 1, true)
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
