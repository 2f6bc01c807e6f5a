package flight

import (
	"context"
	"errors"
	"time"
)

// look is how often one who waits for bytes looks whether slower loads can go by
// now.
const look = 250 * time.Millisecond

// Await is Hold for one who can wait: until n bytes are given back, or slower loads
// can go. It returns ErrBusy when ctx ends before. The load's speed counts from then
// on: nothing arrives while it waits.
func (l *Load) Await(ctx context.Context, n int64) error {
	if l == nil {
		return nil
	}
	for {
		freed := l.budget.awaitFreed() // before the try, or bytes given back between the two would call nobody
		err := l.Hold(n)
		if !errors.Is(err, ErrBusy) {
			l.restart()
			return err
		}
		again := time.NewTimer(look)
		select {
		case <-freed:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ErrBusy
		}
		again.Stop()
	}
}

// awaitFreed is closed when bytes are given back.
func (b *Budget) awaitFreed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed
}

// restart measures the load's speed from now on.
func (l *Load) restart() {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.begun, l.arrived = time.Now(), 0
}
