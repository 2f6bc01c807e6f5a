package bolt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// hookTxn is the webhooks' part of a txn. Every change to deliveries goes through
// it, so that totals cannot drift.
//
// The order of ids is the order of expiry: see bornBefore. So what has expired
// stands at the tree's beginning, and needs no index of its own.
type hookTxn struct {
	tx      *bbolt.Tx
	tree    *bbolt.Bucket
	caps    storage.HookCaps
	ttl     time.Duration
	lived   time.Duration // the store's age
	held    storage.Totals
	changed bool // there is something to commit
}

func newHookTxn(tx *bbolt.Tx, o Options, lived time.Duration) (*hookTxn, error) {
	h := &hookTxn{tx: tx, tree: tx.Bucket(hooksBucket), caps: o.Hooks, ttl: o.HookTTL, lived: lived}
	h.tree.FillPercent = logFill
	var err error
	h.held, err = decodeTotals(tx.Bucket(headBucket).Get(hookTotalsKey))
	return h, err
}

var errKept = errors.New("there is a delivery of that id already")

// keep files a delivery under its id.
func (h *hookTxn) keep(id ids.Delivery, address owner, received time.Time, sealed []byte) error {
	if h.tree.Get(id[:]) != nil {
		return errKept
	}
	if err := h.fit(address, int64(len(sealed))); err != nil {
		return err
	}
	born, err := h.bornBefore(id)
	if err != nil {
		return err
	}
	h.changed = true
	r := record{
		born:     born,
		received: received.UnixMilli(),
		size:     uint32(len(sealed)),
		copies:   1,
		owner:    address,
	}
	if r.apart = len(sealed) > inlineBytes; r.apart {
		_, err = putPieces(h.tree, apartKey(id), sealed)
	} else {
		r.body = sealed
	}
	if err != nil {
		return err
	}
	if err := h.tree.Put(id[:], r.encode()); err != nil {
		return err
	}
	if id.Sequence() > h.tree.Sequence() {
		if err := h.tree.SetSequence(id.Sequence()); err != nil {
			return err
		}
	}
	return h.count(address, int64(len(sealed)), 1)
}

// bornBefore is when a delivery begins to age: now, or, if one that was reserved
// after it came before it, with that one. So it never ages from before it was
// reserved, and none expires before one that stands in front of it.
func (h *hookTxn) bornBefore(id ids.Delivery) (born int64, err error) {
	k, v := h.tree.Cursor().Seek(id[:])
	if len(k) != len(id) {
		return h.lived.Milliseconds(), nil
	}
	next, err := decodeRecord(v)
	return min(next.born, h.lived.Milliseconds()), err
}

// acknowledge removes a delivery and reports whether it was there and unexpired.
func (h *hookTxn) acknowledge(id ids.Delivery) (was bool, err error) {
	v := h.tree.Get(id[:])
	if v == nil {
		return false, nil
	}
	r, err := decodeRecord(v)
	if err != nil {
		return false, err
	}
	return !r.expired(h.lived, h.ttl), h.drop(id, r)
}

func (h *hookTxn) drop(id ids.Delivery, r record) error {
	h.changed = true
	size, address := int64(r.size), r.owner
	if r.apart {
		if err := h.tree.DeleteBucket(apartKey(id)); err != nil {
			return fmt.Errorf("dropping a delivery's bytes: %w", err)
		}
	}
	if err := h.tree.Delete(id[:]); err != nil {
		return err
	}
	return h.count(address, -size, -1)
}

func (h *hookTxn) totals(address owner) (storage.Totals, error) {
	return decodeTotals(h.tree.Get(addressKey(address)))
}

func (h *hookTxn) count(address owner, size, deliveries int64) error {
	box, err := h.totals(address)
	if err != nil {
		return err
	}
	box.Bytes, box.Messages = box.Bytes+size, box.Messages+deliveries
	h.held.Bytes, h.held.Messages = h.held.Bytes+size, h.held.Messages+deliveries
	if box.Messages == 0 {
		return h.tree.Delete(addressKey(address))
	}
	return h.tree.Put(addressKey(address), encodeTotals(box))
}

// register replaces the registered addresses by all, which are sorted and distinct.
func (h *hookTxn) register(all []storage.Hook) error {
	before, err := registered(h.tx.Bucket(addressBucket))
	if err != nil || slices.Equal(before, all) {
		return err
	}
	h.changed = true
	if err := h.tx.DeleteBucket(addressBucket); err != nil {
		return err
	}
	b, err := h.tx.CreateBucket(addressBucket)
	if err != nil {
		return err
	}
	b.FillPercent = logFill // they are put in their order
	for _, address := range all {
		if err := b.Put(address[:], nil); err != nil {
			return err
		}
	}
	return nil
}
