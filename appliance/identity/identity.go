// Package identity is the wallet side: a DID, its key, and what the key signs.
//
// It knows nothing of relays; client carries what is made here to one.
package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/holdmail/holdmail/appliance/did"
)

// Identity is a DID together with its private key, held in memory.
type Identity struct {
	id  did.ID
	key *secp256k1.PrivateKey
}

// New makes a did:key of a fresh secp256k1 key. It is gone with the process.
func New() (*Identity, error) {
	key, err := secp256k1.GeneratePrivateKey()
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return &Identity{id: did.KeyDID(key.PubKey()), key: key}, nil
}

// DID names the identity, and so its mailbox.
func (i *Identity) DID() did.ID { return i.id }

// KeyID names the identity's key: the kid that senders address.
func (i *Identity) KeyID() string {
	return string(i.id) + "#" + strings.TrimPrefix(string(i.id), "did:key:")
}

// Sign signs a text that proves control of the DID: ECDSA over its SHA-256, r and
// s as 128 hex digits, low-S (relay spec §3). It signs whatever it is given, so a
// caller must never give it a stranger's text without knowing what that is.
func (i *Identity) Sign(text string) string {
	hash := sha256.Sum256([]byte(text))
	signature := ecdsa.Sign(i.key, hash[:])
	r, s := signature.R(), signature.S()
	rb, sb := r.Bytes(), s.Bytes()
	return hex.EncodeToString(append(rb[:], sb[:]...))
}
