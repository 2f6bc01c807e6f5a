package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/storage"
)

// nonce is what makes a challenge fresh (relay spec §2.3).
type nonce [32]byte

// A plain challenge is a nonce, good for any DID. A bound one has a hash of the
// nonce and the one DID, in its canonical form, behind it. So what a challenge is
// good for stands in its text, and whoever keeps it keeps that too, and need not
// know.
const boundBytes = len(nonce{}) + sha256.Size

func newNonce() (n nonce) {
	rand.Read(n[:]) // never fails
	return n
}

func (n nonce) plain() string { return base64.RawURLEncoding.EncodeToString(n[:]) }

func (n nonce) bound(to did.ID) string {
	hash := sha256.Sum256(append(n[:], to.Canonical()...))
	return base64.RawURLEncoding.EncodeToString(append(n[:], hash[:]...))
}

// isBound reports whether a challenge of this relay's is good for one DID only.
func isBound(challenge string) bool {
	return len(challenge) == base64.RawURLEncoding.EncodedLen(boundBytes)
}

// isChallenge reports whether this relay may have issued a text.
func isChallenge(text string) bool {
	return isBound(text) || len(text) == base64.RawURLEncoding.EncodedLen(len(nonce{}))
}

// goodFor reports whether a challenge of this relay's is good for id.
func goodFor(challenge string, id did.ID) bool {
	if !isBound(challenge) {
		return true
	}
	var n nonce
	b, err := base64.RawURLEncoding.DecodeString(challenge)
	return err == nil && copy(n[:], b) == len(n) && n.bound(id) == challenge
}

// Challenge issues a fresh challenge: base64url, without padding, of 32 random
// bytes. It counts to each of the holders, none of them for a caller who cannot be
// told from others. It returns storage.ErrTooManyChallenges as the engine does.
func (g *Gate) Challenge(ctx context.Context, holders ...storage.Holder) (string, error) {
	return g.issue(ctx, newNonce().plain(), holders)
}

// BoundChallenge is Challenge for one DID: for any other it is spent, and refused.
// It is base64url of 64 bytes.
func (g *Gate) BoundChallenge(ctx context.Context, to did.ID, holders ...storage.Holder) (string, error) {
	return g.issue(ctx, newNonce().bound(to), holders)
}

// NextChallenge issues a challenge to one who has spent one, and proved to be
// owner: again a bound one, if that was bound.
func (g *Gate) NextChallenge(ctx context.Context, s Spent, owner did.ID, holders ...storage.Holder) (string, error) {
	if isBound(s.proof.Challenge) {
		return g.BoundChallenge(ctx, owner, holders...)
	}
	return g.Challenge(ctx, holders...)
}

func (g *Gate) issue(ctx context.Context, text string, holders []storage.Holder) (string, error) {
	if err := g.Challenges.Issue(ctx, text, holders...); err != nil {
		return "", fmt.Errorf("issuing a challenge: %w", err)
	}
	return text, nil
}
