package ratelimit

import "time"

// Receipt is what a charge has cost so far. It is safe for concurrent use.
type Receipt struct {
	limiter *Limiter
	shares  [3]share // one for each bucket; of no table if there is none
}

// More makes the charge one of total, the first part included: every bucket is
// charged the rest, or none is. A total below what is charged changes nothing.
// When a bucket refuses, the charge is given back as by GiveBack, and the error
// is a *Refusal for the whole total.
func (r *Receipt) More(total int64) error {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	now := r.limiter.now()
	if r.wait(total, now) > 0 {
		r.giveBack(now)
		return refuse(r.wait(total, now), now)
	}
	for i := range r.shares {
		r.shares[i].charge(total, now)
	}
	return nil
}

// GiveBack undoes the charge, but for what its buckets have refilled since: no
// stretch of time may have more than a budget and its refill, and a receipt that
// is held open saves nothing up. It is good once.
func (r *Receipt) GiveBack() {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	r.giveBack(r.limiter.now())
}

func (r *Receipt) giveBack(now time.Time) {
	for i := range r.shares {
		r.shares[i].giveBack(now)
	}
}

// wait is how long it takes until no bucket refuses, if nobody else spends.
func (r *Receipt) wait(total int64, now time.Time) (longest time.Duration) {
	for i := range r.shares {
		longest = max(longest, r.shares[i].wait(total, now))
	}
	return longest
}
