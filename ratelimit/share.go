package ratelimit

import (
	"math"
	"net/netip"
	"time"
)

// share is what one bucket bears of a charge.
type share struct {
	table *table // nil: no bucket bears anything
	of    netip.Prefix

	units int       // charged so far
	since time.Time // the first of them
}

// rest is how many units of total the bucket has yet to bear.
func (s *share) rest(total int64) int {
	if s.table == nil {
		return 0
	}
	return max(0, s.table.units(total)-s.units)
}

// wait is how long it takes until the bucket has the rest of total.
func (s *share) wait(total int64, now time.Time) time.Duration {
	rest := s.rest(total)
	if rest == 0 {
		return 0
	}
	b := s.table.find(s.of)
	if b == nil {
		return 0 // full
	}
	return s.table.wait(b, rest, now)
}

// charge spends the rest of total, which the bucket must have.
func (s *share) charge(total int64, now time.Time) {
	rest := s.rest(total)
	if rest == 0 {
		return
	}
	b := s.table.findOrAdd(s.of, now)
	if b == nil {
		return
	}
	if s.units == 0 {
		s.since = now
	}
	b.AllowN(now, rest)
	s.units += rest
}

// giveBack undoes the charge, but for what the bucket has refilled since: without
// the charge it might have been full, and refilled nothing.
func (s *share) giveBack(now time.Time) {
	if s.units == 0 {
		return
	}
	back := math.Ceil(float64(s.units) - s.table.refill(now.Sub(s.since)))
	s.units = 0
	if b := s.table.find(s.of); b != nil && back > 0 {
		b.AllowN(now, -int(back)) // a credit, which the library cuts at the burst
	}
}
