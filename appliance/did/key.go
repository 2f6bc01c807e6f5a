package did

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/mr-tron/base58"
)

const (
	keyPrefix = "did:key:z" // 'z' is multibase for base58btc
	keyCodec  = "\xe7\x01"  // multicodec secp256k1-pub, as a varint
	keyDigits = 48          // base58 digits of keyCodec and any compressed point
)

// KeyDID returns the did:key of a secp256k1 key.
func KeyDID(key *secp256k1.PublicKey) ID {
	return ID(keyPrefix + base58.Encode(append([]byte(keyCodec), key.SerializeCompressed()...)))
}

// KeyDocument returns the document that a did:key stands for, which needs
// nobody's help. Of the kinds of key it knows secp256k1 only: for any other, and
// for what is not a did:key at all, it returns ErrNoKey.
func KeyDocument(id ID) (Document, error) {
	digits, ok := strings.CutPrefix(string(id), keyPrefix)
	// The exact length also keeps base58, which is quadratic, off long input.
	if !ok || len(digits) != keyDigits {
		return Document{}, fmt.Errorf("%w: not a did:key of this kind", ErrNoKey)
	}
	b, err := base58.Decode(digits)
	if err != nil {
		return Document{}, fmt.Errorf("%w: did:key is not base58", ErrNoKey)
	}
	point, ok := strings.CutPrefix(string(b), keyCodec)
	if !ok || len(point) != secp256k1.PubKeyBytesLenCompressed {
		return Document{}, fmt.Errorf("%w: did:key of another kind", ErrNoKey)
	}
	key, err := secp256k1.ParsePubKey([]byte(point))
	if err != nil {
		return Document{}, fmt.Errorf("%w: the point is off the curve", ErrNoKey)
	}
	return Document{ID: string(id), Signing: jwk(key)}, nil
}

func jwk(key *secp256k1.PublicKey) JWK {
	b := key.SerializeUncompressed() // 0x04, x, y
	return JWK{
		Type:  "EC",
		Curve: "secp256k1",
		X:     base64.RawURLEncoding.EncodeToString(b[1:33]),
		Y:     base64.RawURLEncoding.EncodeToString(b[33:]),
	}
}
