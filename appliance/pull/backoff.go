package pull

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a wait that doubles from first to last, with half of it by chance, so
// that many who wait for one relay do not come back at once.
type backoff struct {
	first, last time.Duration
	next        time.Duration
}

func (b *backoff) calm() { b.next = 0 }

// wait waits, unless ctx ends.
func (b *backoff) wait(ctx context.Context) {
	b.next = min(max(b.first, 2*b.next), b.last)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
