package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// record is what the log says of one envelope, and the hooks tree of one delivery:
// there the owner is the address, and there is one copy.
type record struct {
	born     int64  // in milliseconds of the store's life; decides expiry
	received int64  // Unix milliseconds; for people
	size     uint32 // of the body, in bytes
	copies   uint32 // not yet removed
	owner    owner  // when not shared
	shared   bool   // more than one recipient: they are listed in the body's bucket
	apart    bool   // the body stands in a bucket of its own
	body     []byte // when not apart; valid as long as the transaction
}

// expired reports whether r is older than ttl when the store's age is lived.
func (r record) expired(lived, ttl time.Duration) bool {
	return lived-time.Duration(r.born)*time.Millisecond >= ttl
}

const (
	flagShared = 1 << iota
	flagApart
)

const recordHead = 1 + 8 + 8 + 4 + 4

func (r record) encode() []byte {
	var flags byte
	if r.shared {
		flags |= flagShared
	}
	if r.apart {
		flags |= flagApart
	}
	b := make([]byte, 0, recordHead+len(r.owner)+len(r.body))
	b = append(b, flags)
	b = binary.BigEndian.AppendUint64(b, uint64(r.born))
	b = binary.BigEndian.AppendUint64(b, uint64(r.received))
	b = binary.BigEndian.AppendUint32(b, r.size)
	b = binary.BigEndian.AppendUint32(b, r.copies)
	if !r.shared {
		b = append(b, r.owner[:]...)
	}
	return append(b, r.body...)
}

var errDamaged = errors.New("the store is damaged")

func decodeRecord(b []byte) (record, error) {
	if len(b) < recordHead {
		return record{}, fmt.Errorf("a record of %d bytes: %w", len(b), errDamaged)
	}
	r := record{
		shared:   b[0]&flagShared != 0,
		apart:    b[0]&flagApart != 0,
		born:     int64(binary.BigEndian.Uint64(b[1:])),
		received: int64(binary.BigEndian.Uint64(b[9:])),
		size:     binary.BigEndian.Uint32(b[17:]),
		copies:   binary.BigEndian.Uint32(b[21:]),
		body:     b[recordHead:],
	}
	if !r.shared {
		if len(r.body) < len(r.owner) {
			return record{}, fmt.Errorf("a record without its owner: %w", errDamaged)
		}
		r.body = r.body[copy(r.owner[:], r.body):]
	}
	if !r.apart && len(r.body) != int(r.size) {
		return record{}, fmt.Errorf("a record with %d of %d body bytes: %w", len(r.body), r.size, errDamaged)
	}
	return r, nil
}

func encodeTotals(t storage.Totals) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(t.Bytes)), uint64(t.Messages))
}

// decodeTotals reads totals; none at all are zero totals.
func decodeTotals(b []byte) (storage.Totals, error) {
	switch len(b) {
	case 0:
		return storage.Totals{}, nil
	case 16:
		return storage.Totals{
			Bytes:    int64(binary.BigEndian.Uint64(b)),
			Messages: int64(binary.BigEndian.Uint64(b[8:])),
		}, nil
	default:
		return storage.Totals{}, fmt.Errorf("totals of %d bytes: %w", len(b), errDamaged)
	}
}
