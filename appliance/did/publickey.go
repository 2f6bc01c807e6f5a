package did

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// ErrNoKey is returned where a DID has no usable signing key: none at all, one
// of another kind, or one that is no point of its curve.
var ErrNoKey = errors.New("no signing key of a kind we verify")

// Curve is a kind of key, by its name in a JSON Web Key.
type Curve string

// The curves whose signatures prove control of a DID.
const (
	Secp256k1 Curve = "secp256k1" // RFC 8812
	P256      Curve = "P-256"     // RFC 7518
	Ed25519   Curve = "Ed25519"   // RFC 8037
)

// Key is a public key that may prove control of a DID. Two are equal if they are
// the same key. The zero Key is none; every other one that comes from this package
// is a point of its curve, and not one of those for which anybody can sign.
type Key struct {
	Curve Curve
	Point string // uncompressed as in SEC 1, 65 bytes; for Ed25519 as in RFC 8032, 32 bytes
}

// newKey returns the key of a point, which is compressed or not.
func newKey(curve Curve, point []byte) (Key, error) {
	var ok bool
	switch curve {
	case Secp256k1:
		point, ok = onSecp256k1(point)
	case P256:
		point, ok = onP256(point)
	case Ed25519:
		ok = onEd25519(point)
	}
	if !ok {
		return Key{}, fmt.Errorf("%w: no point of its curve", ErrNoKey)
	}
	return Key{Curve: curve, Point: string(point)}, nil
}

const (
	compressedBytes   = 33
	uncompressedBytes = 65
	uncompressed      = 4 // the first byte of such a point
)

func onSecp256k1(point []byte) (full []byte, ok bool) {
	if !isSEC1(point) {
		return nil, false
	}
	key, err := secp256k1.ParsePubKey(point)
	if err != nil {
		return nil, false
	}
	return key.SerializeUncompressed(), true
}

func onP256(point []byte) (full []byte, ok bool) {
	if !isSEC1(point) {
		return nil, false
	}
	if len(point) == compressedBytes {
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), point)
		if x == nil {
			return nil, false
		}
		full = make([]byte, uncompressedBytes)
		full[0] = uncompressed
		x.FillBytes(full[1:compressedBytes])
		y.FillBytes(full[compressedBytes:])
		point = full
	}
	_, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	return point, err == nil
}

// isSEC1 reports whether a point is written in one of the two forms we know. The
// hybrid form, which some libraries take, is none of them.
func isSEC1(point []byte) bool {
	return len(point) == compressedBytes && (point[0] == 2 || point[0] == 3) ||
		len(point) == uncompressedBytes && point[0] == uncompressed
}

// onEd25519 refuses points of small order, for which one signature holds for
// nearly every text, and points written in more than one way.
func onEd25519(point []byte) bool {
	p, err := new(edwards25519.Point).SetBytes(point)
	if err != nil || string(p.Bytes()) != string(point) {
		return false
	}
	return new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 0
}
