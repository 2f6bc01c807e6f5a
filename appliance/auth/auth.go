// Package auth answers one question: does this caller control this DID?
//
// It knows nothing of HTTP and of what is behind the gate.
package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

var (
	// ErrChallenge: the challenge is unknown, expired or spent, or not for this DID.
	ErrChallenge = errors.New("challenge is unknown, expired or already used")
	// ErrAudience: the proof is meant for another relay.
	ErrAudience = errors.New("proof is meant for another relay")
	// ErrSignature: the signature does not prove control of the DID. It is also
	// the answer for a DID that is not there or has no key to prove anything with.
	ErrSignature = errors.New("signature does not verify")
)

// Proof is what a caller brings: a DID, a challenge that this relay issued, and
// a signature over the challenge (relay spec §3).
type Proof struct {
	DID       string
	Challenge string
	Signature string // 128 hex digits, made as the kind of the key wants it
	// Audience is the relay that the proof is meant for, "" in the plain form, in
	// which it is good at any.
	Audience string
}

// signed is the text that the signature is over. With an audience it is no text
// that could be taken for a challenge.
func (p Proof) signed() string {
	if p.Audience == "" {
		return p.Challenge
	}
	return "holdmail pickup\n" + p.Audience + "\n" + p.Challenge
}

// Spent is a Proof whose challenge is used up. Only Gate.Spend makes one, so
// nobody can look at a proof before it has cost its challenge.
type Spent struct {
	proof Proof
	live  bool
}

// Challenges is what the gate needs of an engine.
type Challenges interface {
	// Issue keeps the challenge alive for a while, and counts it to the holders. It
	// returns storage.ErrTooManyChallenges if as many are live as may be, of all or
	// of one of the holders.
	Issue(ctx context.Context, challenge string, holders ...storage.Holder) error

	// Consume ends the challenge and reports whether it was live. Of any number
	// of callers, now or ever after, at most one is told true.
	Consume(ctx context.Context, challenge string) (live bool, err error)
}

// Gate issues challenges and verifies proofs. It is safe for concurrent use.
type Gate struct {
	Challenges Challenges
	Resolver   resolve.Resolver
	// Audience is this relay's public name, "" if it has none. It is what a proof
	// that has an audience must have.
	Audience string
}

// Spend uses up the proof's challenge, whatever else the proof is worth: a wrong
// guess must cost one. It returns an error only if the engine failed; a dead
// challenge is for Verify to refuse.
func (g *Gate) Spend(ctx context.Context, p Proof) (Spent, error) {
	// No challenge of another length was ever issued; a long one costs nothing.
	if !isChallenge(p.Challenge) {
		return Spent{proof: p}, nil
	}
	live, err := g.Challenges.Consume(ctx, p.Challenge)
	if err != nil {
		return Spent{}, fmt.Errorf("spending a challenge: %w", err)
	}
	return Spent{proof: p, live: live}, nil
}

// Verify returns the DID that the spent proof proves control of, in the form that
// names its mailbox. It returns did.ErrNotDID if the proof names no bare DID, then
// ErrChallenge, which a challenge bound to another DID is too, then ErrAudience,
// then ErrSignature, or resolve.ErrUnreachable if the DID could not be looked up.
func (g *Gate) Verify(ctx context.Context, s Spent) (did.ID, error) {
	id, err := did.Parse(s.proof.DID)
	if err != nil {
		return "", err
	}
	if !s.live || !goodFor(s.proof.Challenge, id) {
		return "", ErrChallenge
	}
	if s.proof.Audience != "" && s.proof.Audience != g.Audience {
		return "", ErrAudience
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
	if err := signature.verify(s.proof.signed(), doc.Signing); err != nil {
		return "", err
	}
	return id.Canonical(), nil
}

// refused makes a missing DID or key a signature that does not verify, and lets
// all else pass.
func refused(err error) error {
	if errors.Is(err, resolve.ErrNotFound) || errors.Is(err, did.ErrNoKey) {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return err
}
