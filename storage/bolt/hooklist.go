package bolt

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// List yields what is kept in the order of ids, never what has expired, and nothing
// that was reserved after it began: all of it, or what stands behind the id after,
// which may be gone. Any other text is storage.ErrNotID. No transaction is open
// while the caller has a delivery. After an error it ends.
//
// Whoever is slow to seal adds a delivery that stands in front of others which may
// have been listed already.
func (h *Hooks) List(ctx context.Context, after string) iter.Seq2[storage.Kept, error] {
	return func(yield func(storage.Kept, error) bool) {
		last, ok := ids.ParseDelivery(after)
		if !ok && after != "" {
			yield(storage.Kept{}, fmt.Errorf("listing deliveries: %w", storage.ErrNotID))
			return
		}
		until := h.store.deliveries.Last()
		for {
			if err := ctx.Err(); err != nil {
				yield(storage.Kept{}, err)
				return
			}
			var r record
			found := false
			err := h.store.view(func(tx *bbolt.Tx) (err error) {
				last, r, found, err = h.next(tx.Bucket(hooksBucket), last, until)
				return err
			})
			if err != nil {
				yield(storage.Kept{}, fmt.Errorf("listing deliveries: %w", err))
				return
			}
			if !found || !yield(kept(last, r), nil) {
				return
			}
		}
	}
}

func kept(id ids.Delivery, r record) storage.Kept {
	return storage.Kept{
		ID:       id.String(),
		Hook:     storage.Hook(r.owner),
		Received: time.UnixMilli(r.received).UTC(),
		Size:     int64(r.size),
	}
}

// next finds the first unexpired delivery behind one id and not behind a number.
func (h *Hooks) next(tree *bbolt.Bucket, after ids.Delivery, until uint64) (id ids.Delivery, r record, found bool, err error) {
	lived, c := h.store.life.age(), tree.Cursor()
	for k, v := c.Seek(after[:]); k != nil && k[0] != addressMark; k, v = c.Next() {
		if v == nil || bytes.Equal(k, after[:]) { // bytes that stand apart, or where we were
			continue
		}
		id, r, err = decodeDelivery(k, v)
		if err != nil || id.Sequence() > until {
			return id, r, false, err
		}
		if !r.expired(lived, h.store.opts.HookTTL) {
			return id, r, true, nil
		}
	}
	return after, r, false, nil
}
