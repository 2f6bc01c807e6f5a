package bolt

import (
	"context"
	"fmt"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

// Recount counts all deliveries anew and returns what it found. It returns an error
// that says where if an address's totals or those of all tell anything else. Like
// Store.Recount it is not for every day.
func (h *Hooks) Recount(context.Context) (counted storage.HookTotals, err error) {
	err = h.store.view(func(tx *bbolt.Tx) error {
		sum, err := recountHooks(tx)
		counted = storage.HookTotals{Deliveries: sum.Messages, Bytes: sum.Bytes}
		return err
	})
	return counted, err
}

// recountHooks reads every byte of every delivery, and the addresses.
func recountHooks(tx *bbolt.Tx) (sum storage.Totals, err error) {
	tree, boxes := tx.Bucket(hooksBucket), map[owner]storage.Totals{}
	err = tree.ForEach(func(k, v []byte) error {
		switch {
		case v == nil:
			if tree.Get(k[:len(k)-1]) == nil {
				return fmt.Errorf("bytes without their delivery: %w", errDamaged)
			}
			return nil
		case k[0] == addressMark: // all deliveries were before
			address := owner(k[1:])
			said, err := decodeTotals(v)
			if err == nil && said != boxes[address] {
				err = fmt.Errorf("an address holds %+v and its totals say %+v: %w", boxes[address], said, errDamaged)
			}
			delete(boxes, address)
			return err
		}
		return recountDelivery(tree, k, v, boxes, &sum)
	})
	if err != nil {
		return sum, err
	}
	for _, box := range boxes {
		return sum, fmt.Errorf("an address holds %+v and has no totals: %w", box, errDamaged)
	}
	said, err := decodeTotals(tx.Bucket(headBucket).Get(hookTotalsKey))
	if err == nil && said != sum {
		err = fmt.Errorf("the store holds deliveries of %+v and its totals say %+v: %w", sum, said, errDamaged)
	}
	if err == nil {
		_, err = registered(tx.Bucket(addressBucket))
	}
	return sum, err
}

func recountDelivery(tree *bbolt.Bucket, k, v []byte, boxes map[owner]storage.Totals, sum *storage.Totals) error {
	id, r, err := decodeDelivery(k, v)
	if err != nil {
		return err
	}
	if id.Sequence() > tree.Sequence() {
		return fmt.Errorf("delivery %d of %d: %w", id.Sequence(), tree.Sequence(), errDamaged)
	}
	if _, err := sealedBytes(tree, id, r); err != nil {
		return err
	}
	box := boxes[r.owner]
	boxes[r.owner] = storage.Totals{Bytes: box.Bytes + int64(r.size), Messages: box.Messages + 1}
	sum.Bytes, sum.Messages = sum.Bytes+int64(r.size), sum.Messages+1
	return nil
}
