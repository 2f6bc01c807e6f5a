package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/mr-tron/base58"
)

// wallet is a stranger's key with its did:key, written from the specification
// and not from the relay's own code, so that one mistake is not made twice.
type wallet struct {
	DID string
	key *secp256k1.PrivateKey
}

func newWallet(t testing.TB) wallet {
	t.Helper()
	key, err := secp256k1.GeneratePrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	multikey := append([]byte{0xe7, 0x01}, key.PubKey().SerializeCompressed()...)
	return wallet{DID: "did:key:z" + base58.Encode(multikey), key: key}
}

// KeyID is the kid a sender would write into an envelope for this wallet.
func (w wallet) KeyID() string { return w.DID + "#" + strings.TrimPrefix(w.DID, "did:key:") }

// sign is the hex of r||s over the SHA-256 of the challenge's text (seed §3).
func (w wallet) sign(challenge string) string {
	digest := sha256.Sum256([]byte(challenge))
	signature := ecdsa.Sign(w.key, digest[:])
	r, s := signature.R(), signature.S()
	rb, sb := r.Bytes(), s.Bytes()
	return hex.EncodeToString(append(rb[:], sb[:]...))
}

// proof is the JSON body of a fetch, or of a remove that names ids.
func (w wallet) proof(challenge string, ids ...string) []byte {
	body, err := json.Marshal(struct {
		DID       string   `json:"did"`
		Challenge string   `json:"challenge"`
		Signature string   `json:"signature"`
		IDs       []string `json:"ids,omitempty"`
	}{w.DID, challenge, w.sign(challenge), ids})
	if err != nil {
		panic(err) // strings always marshal
	}
	return body
}

// envelope is a packed general JWE of exactly size bytes for the named
// wallets, which nobody can open. text makes it different from any other.
func envelope(size int, text string, to ...wallet) []byte {
	recipients := make([]string, len(to))
	for i, w := range to {
		recipients[i] = fmt.Sprintf(`{"header":{"kid":%q},"encrypted_key":"AAAA"}`, w.KeyID())
	}
	protected := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ECDH-ES+A256KW","enc":"A256CBC-HS512"}`))
	head := fmt.Sprintf(`{"protected":"%s","recipients":[%s],"iv":"AAAA","tag":"AAAA","ciphertext":"%s_`,
		protected, strings.Join(recipients, ","), base64.RawURLEncoding.EncodeToString([]byte(text)))
	const tail = `"}`
	padding := size - len(head) - len(tail)
	if padding < 0 {
		panic(fmt.Sprintf("an envelope for %d wallets needs %d bytes, not %d", len(to), size-padding, size))
	}
	return []byte(head + strings.Repeat("A", padding) + tail)
}
