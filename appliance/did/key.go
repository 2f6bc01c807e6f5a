package did

import (
	"fmt"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/mr-tron/base58"
)

const keyPrefix = "did:key:"

// KeyDID returns the did:key of a secp256k1 key.
func KeyDID(key *secp256k1.PublicKey) ID {
	return ID(keyPrefix + "z" + base58.Encode(append([]byte(codecSecp256k1), key.SerializeCompressed()...)))
}

// KeyDocument returns the document that a did:key stands for, which needs nobody's
// help (did:key specification §3.1.2). What is no did:key, or one of a kind we do
// not verify, is ErrNoKey.
func KeyDocument(id ID) (Document, error) {
	text, ok := strings.CutPrefix(string(id), keyPrefix)
	if !ok {
		return Document{}, fmt.Errorf("%w: not a did:key", ErrNoKey)
	}
	key, err := base58Key(text)
	if err != nil {
		return Document{}, err
	}
	return Document{ID: string(id), Signing: key}, nil
}
