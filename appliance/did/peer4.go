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
// its long form, so that mail to either is found under both; else id itself. A long
// form whose hash is of another document is no form of anything: whoever proves
// control of it, by whatever resolver, has proved nothing about the short form.
func (id ID) Canonical() ID {
	short, written, ok := id.cutShort()
	if hash := sha256.Sum256([]byte(written)); ok && string(short) == peerPrefix+"4z"+base58.Encode(append([]byte(sha256Codec), hash[:]...)) {
		return short
	}
	return id
}

// cutShort takes a long form apart: into what looks like its short form, and the
// document as it is written.
func (id ID) cutShort() (short ID, written string, ok bool) {
	if len(id) <= peer4Length || id[peer4Length] != ':' || !id[:peer4Length].IsShort() {
		return "", "", false
	}
	return id[:peer4Length], string(id[peer4Length+1:]), true
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
	short, written, ok := id.cutShort()
	if !ok {
		return Key{}, fmt.Errorf("%w: did:peer:4 without its document", ErrNoKey)
	}
	if id.Canonical() != short {
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
