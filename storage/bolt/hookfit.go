package bolt

import (
	"errors"
	"fmt"

	"github.com/holdmail/holdmail/storage"
)

// fit makes a delivery of size bytes fit the caps, or says why it does not. Like
// txn.fit it sheds what has expired, oldest first, a little in any case and as much
// as this delivery needs, and nothing else.
func (h *hookTxn) fit(address owner, size int64) error {
	if size > h.caps.Bytes || size > h.caps.HookBytes {
		return fmt.Errorf("a delivery over a cap by itself: %w", storage.ErrFull)
	}
	if _, err := h.sweep(sweepCopies); err != nil {
		return err
	}
	for {
		full := h.full(address, size)
		if full == nil || !errors.Is(full, storage.ErrFull) {
			return full
		}
		if shed, err := h.sweep(1); err != nil {
			return err
		} else if shed == 0 {
			return full
		}
	}
}

// full returns storage.ErrFull if size bytes more would pass a cap as things are.
func (h *hookTxn) full(address owner, size int64) error {
	box, err := h.totals(address)
	switch {
	case err != nil:
		return err
	case box.Bytes+size > h.caps.HookBytes || box.Messages >= h.caps.HookDeliveries:
		return fmt.Errorf("an address: %w", storage.ErrFull)
	case h.held.Bytes+size > h.caps.Bytes || h.held.Messages >= h.caps.Deliveries:
		return fmt.Errorf("all addresses: %w", storage.ErrFull)
	}
	return nil
}

// sweep sheds the oldest deliveries that have expired, so many at most, and returns
// how many went.
func (h *hookTxn) sweep(most int) (shed int, err error) {
	for shed < most {
		k, v := h.tree.Cursor().First()
		if k == nil || k[0] == addressMark {
			return shed, nil
		}
		id, r, err := decodeDelivery(k, v)
		if err != nil || !r.expired(h.lived, h.ttl) {
			return shed, err
		}
		if err := h.drop(id, r); err != nil {
			return shed, err
		}
		shed++
	}
	return shed, nil
}
