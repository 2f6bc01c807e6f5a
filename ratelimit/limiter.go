package ratelimit

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// Limiter holds the buckets of all classes. It is safe for concurrent use.
type Limiter struct {
	now func() time.Time

	mu      sync.Mutex // guards all buckets: a charge asks several, then spends of all
	classes map[Class]*buckets
}

// buckets are those of one class.
type buckets struct {
	global, keys, ceilings *table
}

// New returns a Limiter whose budgets are all unspent.
func New(o Options) *Limiter {
	l := &Limiter{now: o.Now, classes: map[Class]*buckets{}}
	if l.now == nil {
		l.now = time.Now
	}
	for class, b := range o.Budgets {
		ceiling := min(b.PerSource, math.MaxInt64/ceilingTimes) * ceilingTimes
		l.classes[class] = &buckets{
			global:   newTable(1, b.Global, b.Window),
			keys:     newTable(o.MaxSources, b.PerSource, b.Window),
			ceilings: newTable(o.MaxSources, ceiling, b.Window),
		}
	}
	return l
}

// Take charges cost, in the class's unit, to every bucket that the source spends
// from, or to none. A cost above a whole bucket needs the whole bucket, and
// spends it. The error is a *Refusal. It takes constant time, however many
// sources there are.
func (l *Limiter) Take(c Class, from Source, cost int64) (*Receipt, error) {
	r := l.receipt(c, from)
	if err := r.More(cost); err != nil {
		return nil, err
	}
	return r, nil
}

// receipt is for a charge that is yet to be made.
func (l *Limiter) receipt(c Class, from Source) *Receipt {
	r := &Receipt{limiter: l}
	b, budgeted := l.classes[c]
	if !budgeted {
		return r
	}
	everybody := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	r.shares[0] = share{table: b.global, of: everybody}
	if from.Key.IsValid() {
		r.shares[1] = share{table: b.keys, of: from.Key}
	}
	if from.Ceiling.IsValid() {
		r.shares[2] = share{table: b.ceilings, of: from.Ceiling}
	}
	return r
}
