package bolt

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

const (
	// inlineBytes is the largest body that stands inside its log record. A larger
	// one there would be rewritten with its neighbours.
	inlineBytes = 2 << 10

	// pieceBytes is how much of a body stands in one value: two of them, with what
	// bbolt adds, fill sixteen pages exactly, so that a large body is written once,
	// needs no long run of free pages, and is read in small steps.
	pieceBytes = 8*4096 - 8 - 16 - 2
)

var sharersKey = []byte("sharers") // longer than a piece's key; the owners, end to end

func pieceKey(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }

// putPieces writes body into a bucket of its own within b.
func putPieces(b *bbolt.Bucket, key, body []byte) (*bbolt.Bucket, error) {
	apart, err := b.CreateBucket(key)
	if err != nil {
		return nil, fmt.Errorf("making a place for a body: %w", err)
	}
	for n := 0; n*pieceBytes < len(body); n++ {
		if err := apart.Put(pieceKey(n), body[n*pieceBytes:min((n+1)*pieceBytes, len(body))]); err != nil {
			return nil, err
		}
	}
	return apart, nil
}

// putApart writes body, and who shares it, into a bucket of its own.
func (t *txn) putApart(q sequence, owners []owner, body []byte) error {
	b, err := putPieces(t.log, q.bodyKey(), body)
	if err != nil || len(owners) == 1 {
		return err
	}
	all := make([]byte, 0, len(owners)*len(owner{}))
	for _, o := range owners {
		all = append(all, o[:]...)
	}
	return b.Put(sharersKey, all)
}

// sharers lists who shared the envelope when it was filed.
func (t *txn) sharers(q sequence) ([]owner, error) {
	b := t.log.Bucket(q.bodyKey())
	if b == nil {
		return nil, fmt.Errorf("a shared envelope without its body: %w", errDamaged)
	}
	all := b.Get(sharersKey)
	owners := make([]owner, len(all)/len(owner{}))
	for i := range owners {
		copy(owners[i][:], all[i*len(owner{}):])
	}
	return owners, nil
}

// apartBody is a body that is read piece by piece, each in a transaction of its
// own: nothing is held while the caller's writer takes its time.
type apartBody struct {
	store *Store
	at    sequence
	size  int64
}

// WriteTo writes the body to w. It returns storage.ErrGone, having written only
// a part, if the message is removed meanwhile.
func (a apartBody) WriteTo(w io.Writer) (written int64, err error) {
	buf := a.store.buffers.Get().(*[pieceBytes]byte)
	defer a.store.buffers.Put(buf)
	for n := 0; written < a.size; n++ {
		piece, err := a.read(n, buf)
		if err != nil {
			return written, err
		}
		m, err := w.Write(piece)
		written += int64(m)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (a apartBody) read(n int, buf *[pieceBytes]byte) (piece []byte, err error) {
	err = a.store.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(logBucket).Bucket(a.at.bodyKey())
		if b == nil {
			return fmt.Errorf("reading a body: %w", storage.ErrGone)
		}
		v := b.Get(pieceKey(n))
		if len(v) == 0 {
			return fmt.Errorf("a body without its piece %d: %w", n, errDamaged)
		}
		piece = buf[:copy(buf[:], v)]
		return nil
	})
	return piece, err
}
