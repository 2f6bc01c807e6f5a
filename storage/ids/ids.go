// Package ids makes ids that carry their sequence: where a message stood in its
// mailbox, or a delivery among all, can be told from its id alone, also when it is
// gone.
//
// It keeps nothing, and knows no recipient: an owner is a hash.
package ids

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

const (
	// SecretBytes is the size of a store's secret.
	SecretBytes = 32
	// Last is the largest sequence that an id can carry.
	Last = 1<<60 - 1
)

const tagBits = 1<<62 - 1

// Owner stands for a mailbox: a hash of its recipient's name.
type Owner = [sha256.Size]byte

// Namer makes the ids of one store. They tell nothing to anyone else: a depositor
// who compares ids must not learn how much mail came in between. An id is the
// sequence under a mask that follows from a tag, and the tag authenticates the
// sequence; both depend on the store's secret and on the owner. Outside the store
// it is a random version 4 UUID like any other (RFC 9562 §5.4).
type Namer struct{ Secret [SecretBytes]byte }

// ID names the owner's message of that sequence, from 1 to Last.
func (n Namer) ID(o Owner, sequence uint64) string {
	tag := n.tag(o, sequence)
	masked := sequence ^ n.mask(o, tag)
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], masked>>12<<16|0x4000|masked&0xfff)
	binary.BigEndian.PutUint64(u[8:], 1<<63|tag)
	return u.String()
}

// Sequence reads an id of the owner's back; ok is false for any other text.
func (n Namer) Sequence(o Owner, id string) (sequence uint64, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.String() != id || u.Version() != 4 || u.Variant() != uuid.RFC4122 {
		return 0, false
	}
	first, tag := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])&tagBits
	masked := first>>16<<12 | first&0xfff
	sequence = masked ^ n.mask(o, tag)
	return sequence, n.tag(o, sequence) == tag
}

func (n Namer) tag(o Owner, sequence uint64) uint64 { return n.mac('t', o, sequence) & tagBits }

func (n Namer) mask(o Owner, tag uint64) uint64 { return n.mac('m', o, tag) & Last }

// mac is a keyed hash, cut to its first eight bytes. All that is hashed has one
// length, so the key may simply stand in front.
func (n Namer) mac(use byte, o Owner, v uint64) uint64 {
	var in [SecretBytes + 1 + len(o) + 8]byte
	b := append(in[:0], n.Secret[:]...)
	b = append(append(b, use), o[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, v))
	return binary.BigEndian.Uint64(sum[:])
}
