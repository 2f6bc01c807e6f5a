package bolt

import (
	"fmt"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// addressMark begins the key of an address's totals. No id begins with it, and all
// sort before it: the newest deliveries and the totals are neighbours.
const addressMark = 0xff

func addressKey(address owner) []byte { return append([]byte{addressMark}, address[:]...) }

// apartKey is where the bytes of a large delivery stand: behind its record.
func apartKey(id ids.Delivery) []byte { return append(id[:], 'b') }

// decodeDelivery reads a record of the hooks tree and its key.
func decodeDelivery(k, v []byte) (id ids.Delivery, r record, err error) {
	if len(k) != len(id) {
		return id, r, fmt.Errorf("a delivery's key of %d bytes: %w", len(k), errDamaged)
	}
	r, err = decodeRecord(v)
	return ids.Delivery(k), r, err
}

// sealedBytes is a copy of what the delivery's record, or the bucket behind it,
// keeps of it.
func sealedBytes(tree *bbolt.Bucket, id ids.Delivery, r record) ([]byte, error) {
	if !r.apart {
		return append(make([]byte, 0, len(r.body)), r.body...), nil
	}
	b := tree.Bucket(apartKey(id))
	if b == nil {
		return nil, fmt.Errorf("a delivery without its bytes: %w", errDamaged)
	}
	// The last piece bears the size out, before room for all of them is made.
	size := int(r.size)
	last := (size - 1) / pieceBytes
	if len(b.Get(pieceKey(last))) != size-last*pieceBytes {
		return nil, fmt.Errorf("a delivery of %d bytes without its end: %w", size, errDamaged)
	}
	sealed := make([]byte, 0, size)
	for n := range last + 1 {
		sealed = append(sealed, b.Get(pieceKey(n))...)
	}
	if len(sealed) != size {
		return nil, fmt.Errorf("a delivery with %d of %d bytes: %w", len(sealed), size, errDamaged)
	}
	return sealed, nil
}

// registered lists the addresses in b, sorted.
func registered(b *bbolt.Bucket) (all []storage.Hook, err error) {
	err = b.ForEach(func(k, _ []byte) error {
		if len(k) != len(storage.Hook{}) {
			return fmt.Errorf("an address of %d bytes: %w", len(k), errDamaged)
		}
		all = append(all, storage.Hook(k))
		return nil
	})
	return all, err
}
