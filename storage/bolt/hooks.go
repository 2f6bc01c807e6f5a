package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// Hooks keeps what comes to webhooks in the store's file.
type Hooks struct{ store *Store }

var errNotReserved = errors.New("not an id that was reserved")

// Reserve returns an id and a time for a delivery that is to be sealed. Ids sort, as
// text, in the order in which they were reserved, and behind each that was ever
// kept; none ever repeats. The time is the best there is, in UTC, to the
// millisecond. It writes nothing.
func (h *Hooks) Reserve() (id string, received time.Time, err error) {
	if h.store.writer.isClosed() {
		return "", time.Time{}, fmt.Errorf("reserving an id: %w", storage.ErrClosed)
	}
	_, stamp := h.store.life.now()
	return h.store.deliveries.Next().String(), stamp.UTC().Truncate(time.Millisecond), nil
}

// Add keeps d, once: a second delivery of its id is an error. Once it returns nil
// d is on the disk. It returns storage.ErrFull if a cap would be passed,
// storage.ErrNoRoom if the disk has no room; it never evicts.
func (h *Hooks) Add(ctx context.Context, d storage.Delivery) error {
	id, ok := h.store.deliveries.Reserved(d.ID)
	if !ok {
		return fmt.Errorf("keeping a delivery: %w", errNotReserved)
	}
	if int64(len(d.Sealed)) > maxBodyBytes {
		return fmt.Errorf("a delivery of %d bytes: %w", len(d.Sealed), storage.ErrFull)
	}
	err := h.store.writer.do(ctx, &task{
		bytes: len(d.Sealed),
		pages: pagesToFile(len(d.Sealed), 1),
		work: func(t *txn) error {
			return t.hooks.keep(id, owner(d.Hook), d.Received, d.Sealed)
		},
	})
	if err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	return nil
}

// Remove acknowledges: it removes those of the ids that are there and returns how
// many there were; expired ones go too, uncounted. Once it returns nil the removal
// is on the disk. It works when everything is full.
//
// After an error some may be removed; asking again is safe.
func (h *Hooks) Remove(ctx context.Context, acknowledged []string) (removed int, err error) {
	var at []ids.Delivery
	for _, text := range acknowledged {
		if id, ok := ids.ParseDelivery(text); ok {
			at = append(at, id)
		}
	}
	for some := range slices.Chunk(at, ackIDs) {
		n, err := h.acknowledge(ctx, some)
		if err != nil {
			return removed, fmt.Errorf("removing deliveries: %w", err)
		}
		removed += n
	}
	return removed, nil
}

func (h *Hooks) acknowledge(ctx context.Context, some []ids.Delivery) (removed int, err error) {
	err = h.store.writer.do(ctx, &task{
		work: func(t *txn) error {
			removed = 0
			for _, id := range some {
				was, err := t.hooks.acknowledge(id)
				if err != nil {
					return err
				}
				if was {
					removed++
				}
			}
			return nil
		},
	})
	return removed, err
}

// Sealed returns a delivery's bytes, or storage.ErrGone if it is not there, or not
// any more.
func (h *Hooks) Sealed(_ context.Context, id string) (sealed []byte, err error) {
	err = h.store.view(func(tx *bbolt.Tx) error {
		tree := tx.Bucket(hooksBucket)
		at, ok := ids.ParseDelivery(id)
		v := tree.Get(at[:])
		if !ok || v == nil {
			return storage.ErrGone
		}
		r, err := decodeRecord(v)
		if err != nil {
			return err
		}
		if r.expired(h.store.life.age(), h.store.opts.HookTTL) {
			return storage.ErrGone
		}
		sealed, err = sealedBytes(tree, at, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading a delivery: %w", err)
	}
	return sealed, nil
}

// Totals is what the store says it holds of deliveries.
func (h *Hooks) Totals(context.Context) (said storage.HookTotals, err error) {
	err = h.store.view(func(tx *bbolt.Tx) error {
		t, err := decodeTotals(tx.Bucket(headBucket).Get(hookTotalsKey))
		said = storage.HookTotals{Deliveries: t.Messages, Bytes: t.Bytes}
		return err
	})
	return said, err
}
