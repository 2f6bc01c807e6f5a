package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
)

// Hooks keeps in memory what comes to webhooks.
type Hooks struct{ store *Store }

// Reserve returns an id and a time for a delivery that is to be sealed. Ids sort, as
// text, in the order in which they were reserved.
func (h *Hooks) Reserve() (id string, received time.Time, err error) {
	if h.store.isClosed() {
		return "", time.Time{}, fmt.Errorf("reserving an id: %w", storage.ErrClosed)
	}
	return h.store.deliveries.Next().String(), h.store.opts.Clock.Now().UTC().Truncate(time.Millisecond), nil
}

// Add keeps d, once: a second delivery of its id is an error. It returns
// storage.ErrFull if a cap would be passed; it never evicts.
func (h *Hooks) Add(ctx context.Context, d storage.Delivery) error {
	s := h.store
	if err := ctx.Err(); err != nil {
		return err
	}
	id, ok := s.deliveries.Reserved(d.ID)
	if !ok {
		return errors.New("keeping a delivery: not an id that was reserved")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("keeping a delivery: %w", storage.ErrClosed)
	}
	s.shedDeliveries()
	at, there := s.hooks.find(d.ID)
	if there {
		return errors.New("keeping a delivery: there is one of that id already")
	}
	if err := s.hooks.fit(d.Hook, int64(len(d.Sealed)), s.opts.Hooks); err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	d.Sealed, d.Received = bytes.Clone(d.Sealed), d.Received.UTC()
	s.hooks.keep(at, delivery{d, id.Sequence(), s.opts.Clock.Elapsed()})
	return nil
}

// Remove removes those of the ids that are there and returns how many there were;
// expired ones go too, uncounted.
func (h *Hooks) Remove(_ context.Context, acknowledged []string) (removed int, err error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fmt.Errorf("removing deliveries: %w", storage.ErrClosed)
	}
	for _, id := range acknowledged {
		at, there := s.hooks.find(id)
		if !there {
			continue
		}
		d := s.hooks.kept[at]
		s.hooks.kept = slices.Delete(s.hooks.kept, at, at+1)
		s.hooks.count(d, -1)
		if !s.deliveryExpired(d) {
			removed++
		}
	}
	return removed, nil
}

// List yields what is kept in the order of ids, never what has expired, and nothing
// that was reserved after it began: all of it, or what stands behind the id after,
// which may be gone. Any other text is storage.ErrNotID. No lock is held while the
// caller has a delivery. After an error it ends.
func (h *Hooks) List(ctx context.Context, after string) iter.Seq2[storage.Kept, error] {
	return func(yield func(storage.Kept, error) bool) {
		if _, ok := ids.ParseDelivery(after); !ok && after != "" {
			yield(storage.Kept{}, fmt.Errorf("listing deliveries: %w", storage.ErrNotID))
			return
		}
		until := h.store.deliveries.Last()
		for {
			if err := ctx.Err(); err != nil {
				yield(storage.Kept{}, err)
				return
			}
			k, found, err := h.next(after, until)
			if err != nil {
				yield(storage.Kept{}, err)
				return
			}
			if !found || !yield(k, nil) {
				return
			}
			after = k.ID
		}
	}
}

// Sealed returns a delivery's bytes, or storage.ErrGone if it is not there, or not
// any more.
func (h *Hooks) Sealed(_ context.Context, id string) ([]byte, error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("reading a delivery: %w", storage.ErrClosed)
	}
	at, there := s.hooks.find(id)
	if !there || s.deliveryExpired(s.hooks.kept[at]) {
		return nil, fmt.Errorf("reading a delivery: %w", storage.ErrGone)
	}
	return bytes.Clone(s.hooks.kept[at].Sealed), nil
}

// Register replaces the registered addresses by hooks. Deliveries of an address that
// is no longer registered stay.
func (h *Hooks) Register(ctx context.Context, hooks []storage.Hook) error {
	s := h.store
	if err := ctx.Err(); err != nil {
		return err
	}
	all := slices.Clone(hooks)
	slices.SortFunc(all, func(a, b storage.Hook) int { return bytes.Compare(a[:], b[:]) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("registering addresses: %w", storage.ErrClosed)
	}
	s.hooks.registered = slices.Compact(all)
	return nil
}

// Registered returns the registered addresses, sorted.
func (h *Hooks) Registered(context.Context) ([]storage.Hook, error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("listing addresses: %w", storage.ErrClosed)
	}
	return slices.Clone(s.hooks.registered), nil
}

// Totals is what the store says it holds of deliveries.
func (h *Hooks) Totals(context.Context) (storage.HookTotals, error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.HookTotals{}, storage.ErrClosed
	}
	return s.hooks.held, nil
}
