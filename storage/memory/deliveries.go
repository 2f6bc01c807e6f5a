package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// hooks is what a store keeps for webhooks, behind the store's lock.
type hooks struct {
	kept       []delivery // sorted by id, which is the order of expiry
	boxes      map[storage.Hook]storage.HookTotals
	held       storage.HookTotals
	registered []storage.Hook // sorted
}

type delivery struct {
	storage.Delivery
	number uint64        // in its id
	born   time.Duration // on the clock's Elapsed
}

// find is where a delivery of that id stands, or would.
func (h *hooks) find(id string) (at int, there bool) {
	return slices.BinarySearchFunc(h.kept, id, func(d delivery, id string) int { return cmp.Compare(d.ID, id) })
}

func (s *Store) deliveryExpired(d delivery) bool {
	return s.opts.Clock.Elapsed()-d.born >= s.opts.HookTTL
}

// shedDeliveries removes what has expired.
func (s *Store) shedDeliveries() {
	shed := 0
	for shed < len(s.hooks.kept) && s.deliveryExpired(s.hooks.kept[shed]) {
		s.hooks.count(s.hooks.kept[shed], -1)
		shed++
	}
	s.hooks.kept = slices.Delete(s.hooks.kept, 0, shed)
}

func (h *hooks) fit(address storage.Hook, size int64, caps storage.HookCaps) error {
	box := h.boxes[address]
	switch {
	case box.Bytes+size > caps.HookBytes || box.Deliveries >= caps.HookDeliveries:
		return fmt.Errorf("an address: %w", storage.ErrFull)
	case h.held.Bytes+size > caps.Bytes || h.held.Deliveries >= caps.Deliveries:
		return fmt.Errorf("all addresses: %w", storage.ErrFull)
	}
	return nil
}

// keep puts d in its place. It begins to age now, or, if one that was reserved after
// it came before it, with that one: the order of ids is the order of expiry.
func (h *hooks) keep(at int, d delivery) {
	if at < len(h.kept) {
		d.born = min(d.born, h.kept[at].born)
	}
	h.kept = slices.Insert(h.kept, at, d)
	h.count(d, 1)
}

// count adds d to the totals, or takes it away for -1.
func (h *hooks) count(d delivery, sign int64) {
	box, size := h.boxes[d.Hook], sign*int64(len(d.Sealed))
	box.Deliveries, box.Bytes = box.Deliveries+sign, box.Bytes+size
	h.held.Deliveries, h.held.Bytes = h.held.Deliveries+sign, h.held.Bytes+size
	if h.boxes[d.Hook] = box; box.Deliveries == 0 {
		delete(h.boxes, d.Hook)
	}
}

// next is the first unexpired delivery behind one id and not behind a number.
func (h *Hooks) next(after string, until uint64) (k storage.Kept, found bool, err error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return k, false, fmt.Errorf("listing deliveries: %w", storage.ErrClosed)
	}
	at, there := s.hooks.find(after)
	if there {
		at++
	}
	for ; at < len(s.hooks.kept) && s.hooks.kept[at].number <= until; at++ {
		if d := s.hooks.kept[at]; !s.deliveryExpired(d) {
			return storage.Kept{ID: d.ID, Hook: d.Hook, Received: d.Received, Size: int64(len(d.Sealed))}, true, nil
		}
	}
	return k, false, nil
}

// Recount counts all deliveries anew. It returns an error if that differs from an
// address's totals or from those of all.
func (h *Hooks) Recount(context.Context) (sum storage.HookTotals, err error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	boxes := map[storage.Hook]storage.HookTotals{}
	for _, d := range s.hooks.kept {
		size := int64(len(d.Sealed))
		box := boxes[d.Hook]
		boxes[d.Hook] = storage.HookTotals{Deliveries: box.Deliveries + 1, Bytes: box.Bytes + size}
		sum.Deliveries, sum.Bytes = sum.Deliveries+1, sum.Bytes+size
	}
	for address, box := range boxes {
		if said := s.hooks.boxes[address]; said != box {
			return sum, fmt.Errorf("an address holds %+v and says %+v", box, said)
		}
	}
	if sum != s.hooks.held || len(boxes) != len(s.hooks.boxes) {
		return sum, fmt.Errorf("the store holds deliveries of %+v and says %+v", sum, s.hooks.held)
	}
	return sum, nil
}
