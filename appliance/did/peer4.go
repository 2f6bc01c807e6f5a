package did

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/mr-tron/base58"
)

const (
	peer4Prefix = peerPrefix + "4zQm"   // what base58 makes of a SHA-256 multihash begins so
	peer4Length = len(peer4Prefix) + 44 // of a short form, in bytes
	sha256Codec = "\x12\x20"            // multihash: SHA2-256, 32 bytes
	jsonCodec   = "\x80\x04"            // multicodec json (0x0200), as a varint
)

// Canonical is the name of id's mailbox. It is the short form for a did:peer:4 in
// its long form, so that mail to either is found under both; else id itself. It
// does not say that the long form is what its hash says: PeerDocument does.
func (id ID) Canonical() ID {
	if short, _, ok := strings.Cut(strings.TrimPrefix(string(id), peerPrefix), ":"); ok {
		if c := ID(peerPrefix + short); c.IsShort() && strings.HasPrefix(string(id), string(c)) {
			return c
		}
	}
	return id
}

// IsShort reports whether id is a did:peer:4 in its short form: a hash, which
// tells a key only to those who have seen the long form.
func (id ID) IsShort() bool {
	return len(id) == peer4Length && strings.HasPrefix(string(id), peer4Prefix) && !strings.Contains(string(id[len(peerPrefix):]), ":")
}

// peer4Key returns the first authentication key of the document in a long form:
// did:peer:4 hash ":" document, both in multibase. The hash is of the document as it
// is written.
func peer4Key(id ID) (Key, error) {
	short := id.Canonical()
	if short == id {
		return Key{}, fmt.Errorf("%w: did:peer:4 without its document", ErrNoKey)
	}
	written := string(id[len(short)+1:])
	if hash := sha256.Sum256([]byte(written)); string(short) != peerPrefix+"4z"+base58.Encode(append([]byte(sha256Codec), hash[:]...)) {
		return Key{}, fmt.Errorf("%w: did:peer:4 whose hash is of another document", ErrNoKey)
	}
	digits, ok := strings.CutPrefix(written, "z")
	if !ok {
		return Key{}, fmt.Errorf("%w: the document in did:peer:4 is not base58btc", ErrNoKey)
	}
	b, err := base58.Decode(digits)
	if err != nil {
		return Key{}, fmt.Errorf("%w: the document in did:peer:4 is not base58", ErrNoKey)
	}
	text, ok := strings.CutPrefix(string(b), jsonCodec)
	if !ok {
		return Key{}, fmt.Errorf("%w: the document in did:peer:4 is not JSON", ErrNoKey)
	}
	doc, err := Authentication([]byte(text), id)
	return doc.Signing, err
}
