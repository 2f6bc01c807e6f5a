// Package pickup brings mail from a relay to a safe place, and acknowledges it
// only once it is there.
//
// It opens no envelope. It may bring a message twice, after a crash or when an
// acknowledgement was lost, and never loses one.
package pickup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/identity"
)

const (
	maxAcknowledged = 10_000           // ids in one call: the relay bounds its body
	lastCalls       = 10 * time.Second // for acknowledging, once the caller wants to stop
)

// ErrTaken is wrapped by a shelf that has other bytes under a message's id
// already. It keeps those; the message stays at the relay.
var ErrTaken = errors.New("other bytes are there already")

// Shelf is a safe place for mail.
type Shelf interface {
	client.Shelf
	// Sync returns nil once all that was kept is as safe as the shelf can make it.
	Sync() error
}

// Pickup is how mail is brought.
type Pickup struct {
	Relay *client.Client
	Owner *identity.Identity
	Shelf Shelf
	Wait  time.Duration // for the first message, if there is none: whole seconds up to 60
	Leave bool          // acknowledge nothing
}

// Run brings all mail that waits. Whatever ends it early, what came whole is
// safe by then and acknowledged, if the relay can still be told. Of several
// errors it returns the first.
func (p Pickup) Run(ctx context.Context) error {
	proof, err := p.Relay.Prove(ctx, p.Owner)
	if err != nil {
		return err
	}
	brought := tally{Shelf: p.Shelf}
	err = p.Relay.Receive(ctx, proof, p.Wait, &brought)
	if err := p.Shelf.Sync(); err != nil {
		return err // what may be lost is not acknowledged
	}
	var unheard error
	if !p.Leave {
		unheard = p.acknowledge(ctx, brought.ids)
	}
	return cmp.Or(err, brought.taken, unheard)
}

// acknowledge has the relay remove ids. It does not end with ctx but soon after:
// it is short, and mail that was brought should not be brought again.
func (p Pickup) acknowledge(ctx context.Context, ids []string) error {
	ctx, cancel := lingering(ctx)
	defer cancel()
	for some := range slices.Chunk(ids, maxAcknowledged) {
		if _, err := p.Relay.Remove(ctx, p.Owner, some); err != nil {
			return fmt.Errorf("acknowledging %d messages that are kept: %w", len(some), err)
		}
	}
	return nil
}

// lingering returns a context that ends lastCalls after ctx does.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(lastCalls, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() { stop(); cancel(nil) }
}

// tally is a shelf that remembers what was kept there.
type tally struct {
	Shelf
	ids   []string
	taken error // the first message that could not be kept; others go on
}

// Keep passes over a message whose place is taken.
func (t *tally) Keep(l client.Label) error {
	err := t.Shelf.Keep(l)
	switch {
	case err == nil:
		t.ids = append(t.ids, l.ID)
	case errors.Is(err, ErrTaken):
		if t.taken == nil {
			t.taken = err
		}
		return nil
	}
	return err
}
