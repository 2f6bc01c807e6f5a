package ratelimit

import (
	"fmt"
	"time"
)

// Refusal is the error of a charge that a bucket does not have. Whoever comes
// again at either time gets in, if nobody else has spent from the same buckets.
type Refusal struct {
	RetryAfter time.Duration // from now, in whole seconds, at least one
	ResetAt    time.Time     // on the wall clock, a whole second, no earlier than RetryAfter from now
}

// Error says when to come again.
func (r *Refusal) Error() string {
	return fmt.Sprintf("rate limit exceeded, retry in %v", r.RetryAfter)
}

// refuse rounds up: a caller who comes too early is refused again.
func refuse(wait time.Duration, now time.Time) *Refusal {
	after := max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
	at := now.Add(after).Round(0) // of the wall clock only
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	return &Refusal{RetryAfter: after, ResetAt: at}
}
