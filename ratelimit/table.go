package ratelimit

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// table is a bounded set of buckets of one size, by whose they are. A full bucket
// says nothing about anybody, so whoever is not in the table has a full one, and
// a bucket that has refilled may be dropped.
type table struct {
	size
	max    int
	bucket map[netip.Prefix]*rate.Limiter
	ring   []entry // the same buckets, in the order in which the hand sees them
	hand   int     // a place in the ring
}

type entry struct {
	of     netip.Prefix
	bucket *rate.Limiter
}

// looks is how many buckets the hand looks at for each that is added. More than
// one, so that the table shrinks when those in it go idle.
const looks = 4

func newTable(max int, budget int64, window time.Duration) *table {
	return &table{size: sizeOf(budget, window), max: max, bucket: map[netip.Prefix]*rate.Limiter{}}
}

// find returns whose bucket, or nil if it is full and not kept.
func (t *table) find(whose netip.Prefix) *rate.Limiter {
	return t.bucket[whose]
}

// findOrAdd returns whose bucket, a full one if there was none, or nil if there
// is no place for it.
func (t *table) findOrAdd(whose netip.Prefix, now time.Time) *rate.Limiter {
	if b := t.find(whose); b != nil {
		return b
	}
	t.dropFull(now)
	if len(t.ring) >= t.max {
		return nil
	}
	b := t.full()
	t.bucket[whose] = b
	t.ring = append(t.ring, entry{whose, b})
	return b
}

// dropFull moves the hand on by a few buckets, and drops those that are full.
func (t *table) dropFull(now time.Time) {
	for range min(looks, len(t.ring)) {
		t.hand %= len(t.ring)
		e := t.ring[t.hand]
		if !t.isFull(e.bucket, now) {
			t.hand++
			continue
		}
		last := len(t.ring) - 1
		t.ring[t.hand] = t.ring[last]
		t.ring[last] = entry{}
		t.ring = t.ring[:last]
		delete(t.bucket, e.of)
	}
}
