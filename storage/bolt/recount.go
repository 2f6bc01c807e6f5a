package bolt

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

// Recount counts all mail anew, entry by entry, and returns what it found. It
// returns an error that says where if a mailbox's totals, the store's totals or
// the log tell anything else, or if deliveries do not add up either. It reads the whole store in one transaction: it is
// for tests and repairs, not for every day.
func (s *Store) Recount(context.Context) (counted storage.Totals, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		if counted, err = recount(tx); err == nil {
			_, err = recountHooks(tx)
		}
		return err
	})
	return counted, err
}

func recount(tx *bbolt.Tx) (sum storage.Totals, err error) {
	log, copies := tx.Bucket(logBucket), map[sequence]uint32{}
	var box storage.Totals
	err = tx.Bucket(mailBucket).ForEach(func(k, v []byte) error {
		o, q := owner(k[:len(owner{})]), sequence(binary.BigEndian.Uint64(k[len(owner{}):]))
		if string(k) == string(o.totalsKey()) {
			kept, err := decodeTotals(v)
			if err == nil && kept != box {
				err = fmt.Errorf("a mailbox holds %+v and its totals say %+v: %w", box, kept, errDamaged)
			}
			box = storage.Totals{}
			return err
		}
		r, err := decodeRecord(log.Get(q.key()))
		if err != nil {
			return err
		}
		if size := binary.BigEndian.Uint32(v); size != r.size {
			return fmt.Errorf("an entry of %d bytes for an envelope of %d: %w", size, r.size, errDamaged)
		}
		copies[q]++
		box.Bytes, box.Messages = box.Bytes+int64(r.size), box.Messages+1
		sum.Bytes, sum.Messages = sum.Bytes+int64(r.size), sum.Messages+1
		return nil
	})
	if err == nil && box != (storage.Totals{}) {
		err = fmt.Errorf("a mailbox holds %+v and has no totals: %w", box, errDamaged)
	}
	if err != nil {
		return sum, err
	}
	if err := recountLog(log, copies); err != nil {
		return sum, err
	}
	kept, err := decodeTotals(tx.Bucket(headBucket).Get(totalsKey))
	if err == nil && kept != sum {
		err = fmt.Errorf("the store holds %+v and its totals say %+v: %w", sum, kept, errDamaged)
	}
	return sum, err
}

// recountLog checks that the log has exactly the envelopes that entries name,
// and knows how many do.
func recountLog(log *bbolt.Bucket, copies map[sequence]uint32) error {
	return log.ForEach(func(k, v []byte) error {
		q := sequence(binary.BigEndian.Uint64(k))
		if v == nil {
			if log.Get(q.key()) == nil {
				return fmt.Errorf("a body without its envelope: %w", errDamaged)
			}
			return nil
		}
		r, err := decodeRecord(v)
		if err == nil && r.copies != copies[q] {
			err = fmt.Errorf("an envelope counts %d copies of %d: %w", r.copies, copies[q], errDamaged)
		}
		return err
	})
}
