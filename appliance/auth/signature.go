package auth

import (
	"encoding/hex"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// parseSignature reads r and s, 64 hex digits each in either case. Each must be
// from 1 to the curve order less one, and s in the lower half: of the two
// signatures that hold for one message and key, one is good.
func parseSignature(text string) (*ecdsa.Signature, error) {
	var b [64]byte
	if len(text) != hex.EncodedLen(len(b)) {
		return nil, fmt.Errorf("%w: want 128 hex digits", ErrSignature)
	}
	if _, err := hex.Decode(b[:], []byte(text)); err != nil {
		return nil, fmt.Errorf("%w: want hex digits only", ErrSignature)
	}
	var r, s secp256k1.ModNScalar
	if r.SetByteSlice(b[:32]) || s.SetByteSlice(b[32:]) || r.IsZero() || s.IsZero() {
		return nil, fmt.Errorf("%w: r or s out of range", ErrSignature)
	}
	if s.IsOverHalfOrder() {
		return nil, fmt.Errorf("%w: s is not in the lower half", ErrSignature)
	}
	return ecdsa.NewSignature(&r, &s), nil
}
