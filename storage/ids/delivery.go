package ids

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
)

// Delivery is the id of a delivery: its place in the order of all, and eight random
// bytes. A number that was handed out and never kept may be handed out again after
// a crash; the random bytes make it another id all the same. That must hold, since
// who has seen an id drops what comes under it again.
type Delivery [16]byte

// Sequence is the place in the order, from 1.
func (d Delivery) Sequence() uint64 { return binary.BigEndian.Uint64(d[:]) }

// String is the id as text: 32 hex digits, which sort as the ids do.
func (d Delivery) String() string { return hex.EncodeToString(d[:]) }

// ParseDelivery reads the text of an id; ok is false for any other text.
func ParseDelivery(text string) (d Delivery, ok bool) {
	if len(text) != hex.EncodedLen(len(d)) {
		return Delivery{}, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil && d.String() == text && 0 < d.Sequence() && d.Sequence() <= Last
}

// Deliveries hands out the ids of one store's deliveries. It is safe for
// concurrent use; its zero value begins with 1.
type Deliveries struct{ last atomic.Uint64 }

// Begin makes the next id stand behind last. It is called before any Next.
func (d *Deliveries) Begin(last uint64) { d.last.Store(last) }

// Next is an id behind all that were handed out.
func (d *Deliveries) Next() (id Delivery) {
	binary.BigEndian.PutUint64(id[:], d.last.Add(1))
	rand.Read(id[8:]) // never fails
	return id
}

// Last is the number in the newest id that was handed out.
func (d *Deliveries) Last() uint64 { return d.last.Load() }

// Reserved reads an id; ok is false for what Next cannot have handed out.
func (d *Deliveries) Reserved(text string) (id Delivery, ok bool) {
	id, ok = ParseDelivery(text)
	return id, ok && id.Sequence() <= d.Last()
}
