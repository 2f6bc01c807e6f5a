package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	es256k "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"github.com/holdmail/holdmail/appliance/did"
)

// signature is two numbers of 32 bytes, one after the other: r and s of ECDSA, or R
// and S of EdDSA.
type signature [64]byte

// parseSignature reads 128 hex digits in either case.
func parseSignature(text string) (s signature, err error) {
	if len(text) != hex.EncodedLen(len(s)) {
		return s, fmt.Errorf("%w: want 128 hex digits", ErrSignature)
	}
	if _, err := hex.Decode(s[:], []byte(text)); err != nil {
		return s, fmt.Errorf("%w: want hex digits only", ErrSignature)
	}
	return s, nil
}

// verify returns nil if s is key's signature of text, else ErrSignature. The key's
// kind decides how it must have been signed; the caller has no say in it.
func (s signature) verify(text string, key did.Key) error {
	point := []byte(key.Point)
	switch key.Curve {
	case did.Secp256k1:
		return s.verifyES256K(text, point)
	case did.P256:
		return s.verifyES256(text, point)
	case did.Ed25519:
		return s.verifyEdDSA(text, point)
	}
	return fmt.Errorf("%w: %w", ErrSignature, did.ErrNoKey)
}

// verifyES256K verifies ECDSA on secp256k1 over the text's SHA-256. r and s must be
// from 1 to the curve order less one, and s in the lower half: of the two signatures
// that hold for one text and key, one is good (relay spec §3).
func (s signature) verifyES256K(text string, point []byte) error {
	var r1, s1 secp256k1.ModNScalar
	if r1.SetByteSlice(s[:32]) || s1.SetByteSlice(s[32:]) || r1.IsZero() || s1.IsZero() {
		return fmt.Errorf("%w: r or s out of range", ErrSignature)
	}
	if s1.IsOverHalfOrder() {
		return fmt.Errorf("%w: s is not in the lower half", ErrSignature)
	}
	key, err := secp256k1.ParsePubKey(point)
	if err != nil {
		return fmt.Errorf("%w: the key is no point of secp256k1", ErrSignature)
	}
	hash := sha256.Sum256([]byte(text))
	return verified(es256k.NewSignature(&r1, &s1).Verify(hash[:], key))
}

// verifyES256 verifies ECDSA on P-256 over the text's SHA-256 (RFC 7518 §3.4). s may
// be in either half: ES256 has no such rule and browsers make both. A challenge is
// good once, so a second spelling of a signature is worth nothing.
func (s signature) verifyES256(text string, point []byte) error {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return fmt.Errorf("%w: the key is no point of P-256", ErrSignature)
	}
	hash := sha256.Sum256([]byte(text))
	return verified(ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(s[:32]), new(big.Int).SetBytes(s[32:])))
}

// verifyEdDSA verifies Ed25519 over the text itself (RFC 8032 §5.1.7). S must be
// below the order, so that there is one S for an R; did lets no key of small order
// come here.
func (s signature) verifyEdDSA(text string, point []byte) error {
	return verified(len(point) == ed25519.PublicKeySize && ed25519.Verify(point, []byte(text), s[:]))
}

func verified(ok bool) error {
	if !ok {
		return ErrSignature
	}
	return nil
}
