package ratelimit

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// size is that of a bucket. Buckets count in units, since the library's bursts
// are ints, which are small on a 32-bit board.
type size struct {
	unit      int64   // in units of the class; a power of two
	burst     int     // in units
	perSecond float64 // refilled, in units
}

func sizeOf(budget int64, window time.Duration) size {
	unit := int64(1)
	for budget/unit > math.MaxInt32 {
		unit *= 2
	}
	burst := int(budget / unit)
	return size{unit: unit, burst: burst, perSecond: float64(burst) / window.Seconds()}
}

// units is what cost takes of a bucket: all of it at most.
func (s size) units(cost int64) int {
	if cost <= 0 {
		return 0
	}
	return int(min((cost-1)/s.unit+1, int64(s.burst)))
}

// refill is how many units a bucket gains in d.
func (s size) refill(d time.Duration) float64 {
	return s.perSecond * d.Seconds()
}

// full returns a full bucket.
func (s size) full() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(s.perSecond), s.burst)
}

func (s size) isFull(b *rate.Limiter, now time.Time) bool {
	return b.TokensAt(now) >= float64(s.burst)
}

// wait is how long it takes until the bucket allows that many units. It counts
// as the library does, to whose AllowN a nanosecond's worth is nothing.
func (s size) wait(b *rate.Limiter, units int, now time.Time) time.Duration {
	missing := float64(units) - b.TokensAt(now)
	return max(0, time.Duration(missing/s.perSecond*float64(time.Second)))
}
