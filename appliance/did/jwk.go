package did

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// JWK is a public key as a JSON Web Key (RFC 7517, RFC 8037, RFC 8812).
type JWK struct {
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	X     string `json:"x"` // base64url without padding, of 32 bytes
	Y     string `json:"y"` // the same; nothing for Ed25519
}

// Key returns the key that k is. It is ErrNoKey for one of another kind and for
// one that is no point of its curve.
func (k JWK) Key() (Key, error) {
	curve := Curve(k.Curve)
	switch {
	case k.Type == "EC" && (curve == Secp256k1 || curve == P256):
		x, okX := coordinate(k.X)
		y, okY := coordinate(k.Y)
		if !okX || !okY {
			return Key{}, fmt.Errorf("%w: a coordinate is not 32 bytes", ErrNoKey)
		}
		return newKey(curve, append(append([]byte{uncompressed}, x...), y...))
	case k.Type == "OKP" && curve == Ed25519:
		x, ok := coordinate(k.X)
		if !ok {
			return Key{}, fmt.Errorf("%w: the point is not 32 bytes", ErrNoKey)
		}
		return newKey(curve, x)
	}
	return Key{}, fmt.Errorf("%w: a JWK of another kind", ErrNoKey)
}

// coordinate decodes exactly 32 bytes of base64url.
func coordinate(text string) (b []byte, ok bool) {
	// The length is checked before decoding: the decoder would skip line breaks.
	if len(text) != base64.RawURLEncoding.EncodedLen(32) {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return b, err == nil && len(b) == 32
}

// JWKDocument returns the document that a did:jwk stands for, which needs nobody's
// help (did:jwk specification, "Read"). What is no did:jwk, holds a private key, or
// is not for signing is ErrNoKey.
func JWKDocument(id ID) (Document, error) {
	text, ok := strings.CutPrefix(string(id), "did:jwk:")
	if !ok {
		return Document{}, fmt.Errorf("%w: not a did:jwk", ErrNoKey)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Document{}, fmt.Errorf("%w: did:jwk is not base64url", ErrNoKey)
	}
	var k struct {
		JWK
		Use     string          `json:"use"`
		Private json.RawMessage `json:"d"`
	}
	if err := json.Unmarshal(b, &k); err != nil {
		return Document{}, fmt.Errorf("%w: did:jwk holds no JWK", ErrNoKey)
	}
	if k.Private != nil || k.Use == "enc" {
		return Document{}, fmt.Errorf("%w: did:jwk holds a key that is not for verifying", ErrNoKey)
	}
	key, err := k.Key()
	if err != nil {
		return Document{}, err
	}
	return Document{ID: string(id), Signing: key}, nil
}
