// Package auth answers one question: does this caller control this DID?
//
// It knows nothing of HTTP and of what is behind the gate.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

var (
	// ErrChallenge: the challenge is unknown, expired or spent.
	ErrChallenge = errors.New("challenge is unknown, expired or already used")
	// ErrSignature: the signature does not prove control of the DID. It is also
	// the answer for a DID that is not there or has no key to prove anything with.
	ErrSignature = errors.New("signature does not verify")
)

// challengeBytes is how many random bytes a challenge has (relay spec §2.3).
const challengeBytes = 32

// Proof is what a caller brings: a DID, a challenge that this relay issued, and
// a signature over the challenge (relay spec §3).
type Proof struct {
	DID       string
	Challenge string
	Signature string // 128 hex digits: r and s, low-S
}

// Spent is a Proof whose challenge is used up. Only Gate.Spend makes one, so
// nobody can look at a proof before it has cost its challenge.
type Spent struct {
	proof Proof
	live  bool
}

// Challenges is what the gate needs of an engine.
type Challenges interface {
	// Issue keeps the challenge alive for a while. It returns
	// storage.ErrTooManyChallenges if as many are live as may be.
	Issue(ctx context.Context, challenge string) error

	// Consume ends the challenge and reports whether it was live. Of any number
	// of callers, now or ever after, at most one is told true.
	Consume(ctx context.Context, challenge string) (live bool, err error)
}

// Gate issues challenges and verifies proofs. It is safe for concurrent use.
type Gate struct {
	Challenges Challenges
	Resolver   resolve.Resolver
}

// Challenge issues a fresh challenge: base64url, without padding, of 32 random
// bytes. It returns storage.ErrTooManyChallenges as the engine does.
func (g *Gate) Challenge(ctx context.Context) (string, error) {
	var b [challengeBytes]byte
	rand.Read(b[:]) // never fails
	text := base64.RawURLEncoding.EncodeToString(b[:])
	if err := g.Challenges.Issue(ctx, text); err != nil {
		return "", fmt.Errorf("issuing a challenge: %w", err)
	}
	return text, nil
}

// Spend uses up the proof's challenge, whatever else the proof is worth: a wrong
// guess must cost one. It returns an error only if the engine failed; a dead
// challenge is for Verify to refuse.
func (g *Gate) Spend(ctx context.Context, p Proof) (Spent, error) {
	// No challenge of another length was ever issued; a long one costs nothing.
	if len(p.Challenge) != base64.RawURLEncoding.EncodedLen(challengeBytes) {
		return Spent{proof: p}, nil
	}
	live, err := g.Challenges.Consume(ctx, p.Challenge)
	if err != nil {
		return Spent{}, fmt.Errorf("spending a challenge: %w", err)
	}
	return Spent{proof: p, live: live}, nil
}

// Verify returns the DID that the spent proof proves control of. It returns
// did.ErrNotDID if the proof names no bare DID, then ErrChallenge, then
// ErrSignature, or resolve.ErrUnreachable if the DID could not be looked up.
func (g *Gate) Verify(ctx context.Context, s Spent) (did.ID, error) {
	id, err := did.Parse(s.proof.DID)
	if err != nil {
		return "", err
	}
	if !s.live {
		return "", ErrChallenge
	}
	// The signature's form comes before the resolver: nonsense asks nobody.
	signature, err := parseSignature(s.proof.Signature)
	if err != nil {
		return "", err
	}
	doc, err := g.Resolver.Resolve(ctx, id)
	if err != nil {
		return "", refused(err)
	}
	key, err := doc.SigningKey()
	if err != nil {
		return "", refused(err)
	}
	hash := sha256.Sum256([]byte(s.proof.Challenge))
	if !signature.Verify(hash[:], key) {
		return "", ErrSignature
	}
	return id, nil
}

// refused makes a missing DID or key a signature that does not verify, and lets
// all else pass.
func refused(err error) error {
	if errors.Is(err, resolve.ErrNotFound) || errors.Is(err, did.ErrNoKey) {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return err
}
