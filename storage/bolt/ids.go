package bolt

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

// namer makes message ids that carry their sequence, so that no index of ids is
// kept, and that tell nothing to anyone else: a depositor who compares ids must
// not learn how much mail came in between. An id is the sequence under a mask
// that follows from a tag, and the tag authenticates the sequence; both depend
// on the store's secret and on the owner. Outside the store it is a random
// version 4 UUID like any other (RFC 9562 §5.4).
type namer struct{ secret [secretBytes]byte }

const secretBytes = 32

const tagBits = 1<<62 - 1

func (n namer) id(o owner, q sequence) string {
	tag := n.tag(o, q)
	masked := uint64(q) ^ n.mask(o, tag)
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], masked>>12<<16|0x4000|masked&0xfff)
	binary.BigEndian.PutUint64(u[8:], 1<<63|tag)
	return u.String()
}

// sequence reads an id of the owner's back; ok is false for any other text.
func (n namer) sequence(o owner, id string) (q sequence, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.String() != id || u.Version() != 4 || u.Variant() != uuid.RFC4122 {
		return 0, false
	}
	first, tag := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])&tagBits
	masked := first>>16<<12 | first&0xfff
	q = sequence(masked ^ n.mask(o, tag))
	return q, n.tag(o, q) == tag
}

func (n namer) tag(o owner, q sequence) uint64 { return n.mac('t', o, uint64(q)) & tagBits }

func (n namer) mask(o owner, tag uint64) uint64 { return n.mac('m', o, tag) & uint64(lastSequence) }

// mac is a keyed hash, cut to its first eight bytes. All that is hashed has one
// length, so the key may simply stand in front.
func (n namer) mac(use byte, o owner, v uint64) uint64 {
	var in [secretBytes + 1 + len(o) + 8]byte
	b := append(in[:0], n.secret[:]...)
	b = append(append(b, use), o[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, v))
	return binary.BigEndian.Uint64(sum[:])
}
