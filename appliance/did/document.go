package did

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// ErrNoKey is returned where a DID has no usable signing key: none at all, one
// of another kind, or one that is no point of the curve.
var ErrNoKey = errors.New("no secp256k1 signing key")

// Document is the part of a DID document that we read.
type Document struct {
	ID      string // the DID it says it describes, or "" if it does not say
	Signing JWK    // of verificationMethod[0]; zero if there is none
}

// JWK is a public key as JSON Web Key (RFC 7517, RFC 8812).
type JWK struct {
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	X     string `json:"x"` // base64url without padding
	Y     string `json:"y"` // base64url without padding
}

// UnmarshalJSON reads a didDocument. Only the first verification method is
// looked at: what follows may be of a shape we do not know. What cannot be read
// at all is ErrNoKey.
func (d *Document) UnmarshalJSON(b []byte) error {
	var doc struct {
		ID      string            `json:"id"`
		Methods []json.RawMessage `json:"verificationMethod"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("%w: unreadable DID document", ErrNoKey)
	}
	var first struct {
		Key JWK `json:"publicKeyJwk"`
	}
	if len(doc.Methods) > 0 {
		if err := json.Unmarshal(doc.Methods[0], &first); err != nil {
			return fmt.Errorf("%w: unreadable first verification method", ErrNoKey)
		}
	}
	*d = Document{ID: doc.ID, Signing: first.Key}
	return nil
}

// SigningKey returns the key that proves control of the DID: that of
// verificationMethod[0] and no other (relay spec §3). It is ErrNoKey unless that
// is an EC key on secp256k1.
func (d Document) SigningKey() (*secp256k1.PublicKey, error) {
	k := d.Signing
	if k == (JWK{}) {
		return nil, fmt.Errorf("%w: the first verification method has no publicKeyJwk", ErrNoKey)
	}
	if k.Type != "EC" || k.Curve != "secp256k1" {
		return nil, fmt.Errorf("%w: the first verification method is of another kind", ErrNoKey)
	}
	x, okX := coordinate(k.X)
	y, okY := coordinate(k.Y)
	if !okX || !okY {
		return nil, fmt.Errorf("%w: a coordinate is not 32 bytes below the field's prime", ErrNoKey)
	}
	key := secp256k1.NewPublicKey(&x, &y)
	if !key.IsOnCurve() {
		return nil, fmt.Errorf("%w: the point is off the curve", ErrNoKey)
	}
	return key, nil
}

// coordinate decodes one half of a point; ok only for exactly 32 bytes of
// base64url that are a canonical number of the field.
func coordinate(text string) (f secp256k1.FieldVal, ok bool) {
	// The length is checked before decoding: the decoder would skip line breaks.
	if len(text) != base64.RawURLEncoding.EncodedLen(32) {
		return f, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 32 {
		return f, false
	}
	overflow := f.SetByteSlice(b)
	return f, !overflow
}
