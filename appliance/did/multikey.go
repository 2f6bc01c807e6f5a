package did

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mr-tron/base58"
)

// maxMultikey is longer than any key of ours in multibase, in characters. It keeps
// base58, which is quadratic, off long input.
const maxMultikey = 64

// The multicodecs of public keys, as varints.
const (
	codecSecp256k1 = "\xe7\x01"
	codecP256      = "\x80\x24"
	codecEd25519   = "\xed\x01"
)

// base58Key reads a key as DIDs write it: multibase base58btc of a multicodec and
// a point, which is compressed.
func base58Key(text string) (Key, error) {
	digits, ok := strings.CutPrefix(text, "z")
	if !ok || len(text) > maxMultikey {
		return Key{}, fmt.Errorf("%w: not multibase of a key of ours", ErrNoKey)
	}
	b, err := base58.Decode(digits)
	if err != nil {
		return Key{}, fmt.Errorf("%w: not base58", ErrNoKey)
	}
	return codecKey(b)
}

// multibaseKey reads a key as documents write it, which may be base64url too
// (Controlled Identifiers 1.0, "Multikey").
func multibaseKey(text string) (Key, error) {
	digits, ok := strings.CutPrefix(text, "u")
	if !ok {
		return base58Key(text)
	}
	if len(text) > maxMultikey || strings.ContainsAny(digits, "\r\n") {
		return Key{}, fmt.Errorf("%w: not multibase of a key of ours", ErrNoKey)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(digits)
	if err != nil {
		return Key{}, fmt.Errorf("%w: not base64url", ErrNoKey)
	}
	return codecKey(b)
}

// codecKey reads a multicodec and a point.
func codecKey(b []byte) (Key, error) {
	for codec, curve := range map[string]Curve{codecSecp256k1: Secp256k1, codecP256: P256, codecEd25519: Ed25519} {
		if point, ok := strings.CutPrefix(string(b), codec); ok {
			if curve != Ed25519 && len(point) != compressedBytes {
				return Key{}, fmt.Errorf("%w: the point is not compressed", ErrNoKey)
			}
			return newKey(curve, []byte(point))
		}
	}
	return Key{}, fmt.Errorf("%w: a multicodec of another kind", ErrNoKey)
}
