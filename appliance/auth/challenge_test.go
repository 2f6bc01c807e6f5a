package auth_test

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/identity"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

const here = "https://relay.example/didcomm"

// keyGate is a gate that resolves did:key alone, and is called here.
func keyGate() (*auth.Gate, *challenges) {
	c := &challenges{live: map[string]bool{}}
	return &auth.Gate{Challenges: c, Resolver: resolve.Key{}, Audience: here}, c
}

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	who, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// proof has who sign text to prove control of its DID.
func proof(who *identity.Identity, challenge, text, audience string) auth.Proof {
	return auth.Proof{DID: string(who.DID()), Challenge: challenge, Signature: who.Sign(text), Audience: audience}
}

func TestABoundChallengeIsGoodForOneDID(t *testing.T) {
	g, c := keyGate()
	ann, eve := newIdentity(t), newIdentity(t)
	for range 2 {
		challenge, err := g.BoundChallenge(t.Context(), ann.DID())
		if err != nil {
			t.Fatal(err)
		}
		if b, err := base64.RawURLEncoding.DecodeString(challenge); err != nil || len(b) != 64 {
			t.Fatalf("challenge %q is %d bytes, %v; want 64", challenge, len(b), err)
		}
		if id, err := prove(t, g, proof(ann, challenge, challenge, "")); id != ann.DID() || err != nil {
			t.Errorf("for its DID: %q, %v", id, err)
		}
		challenge, err = g.BoundChallenge(t.Context(), ann.DID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prove(t, g, proof(eve, challenge, challenge, "")); !errors.Is(err, auth.ErrChallenge) {
			t.Errorf("for another DID: %v, want %v", err, auth.ErrChallenge)
		}
		if _, err := prove(t, g, proof(ann, challenge, challenge, "")); !errors.Is(err, auth.ErrChallenge) {
			t.Errorf("for its DID, after another: %v, want %v", err, auth.ErrChallenge)
		}
	}
	if len(c.live) != 0 {
		t.Errorf("%d challenges are live still", len(c.live))
	}
}

func TestWhatIsIssuedNextIsOfTheSameKind(t *testing.T) {
	g, c := keyGate()
	ann, eve := newIdentity(t), newIdentity(t)
	plain, err := g.Challenge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bound, err := g.BoundChallenge(t.Context(), ann.DID())
	if err != nil {
		t.Fatal(err)
	}
	next := func(challenge string) string {
		t.Helper()
		spent, err := g.Spend(t.Context(), proof(ann, challenge, challenge, ""))
		if err != nil {
			t.Fatal(err)
		}
		owner, err := g.Verify(t.Context(), spent)
		if err != nil {
			t.Fatal(err)
		}
		holder := storage.Holder{Name: "203.0.113.1", Most: 7}
		issued, err := g.NextChallenge(t.Context(), spent, owner, holder)
		if err != nil || len(c.holders) != 1 || c.holders[0] != holder {
			t.Fatalf("NextChallenge = %v; it counts to %v", err, c.holders)
		}
		return issued
	}
	plain, bound = next(plain), next(next(bound))
	if _, err := prove(t, g, proof(eve, plain, plain, "")); err != nil {
		t.Errorf("after a plain one: %v", err)
	}
	if _, err := prove(t, g, proof(eve, bound, bound, "")); !errors.Is(err, auth.ErrChallenge) {
		t.Errorf("after a bound one, for another DID: %v, want %v", err, auth.ErrChallenge)
	}
}

func TestAProofForThisRelayIsGoodHereOnly(t *testing.T) {
	text := func(audience, challenge string) string { return "holdmail pickup\n" + audience + "\n" + challenge }
	const there = "https://other.example/didcomm"
	for _, tt := range []struct {
		name, signedFor, audience, relay string
		want                             error
	}{
		{"for this relay", here, here, here, nil},
		{"for another", there, there, here, auth.ErrAudience},
		{"for another, passed on as if for this", there, here, here, auth.ErrSignature},
		{"for another, passed on as a plain one", there, "", here, auth.ErrSignature},
		{"for this, said to be another", here, there, here, auth.ErrAudience},
		{"for one with a slash", here + "/", here + "/", here, auth.ErrAudience},
		{"for a relay that has no name", here, here, "", auth.ErrAudience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := keyGate()
			g.Audience = tt.relay
			ann := newIdentity(t)
			challenge, err := g.Challenge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = prove(t, g, proof(ann, challenge, text(tt.signedFor, challenge), tt.audience))
			if !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v, want %v", err, tt.want)
			}
		})
	}
}

// A signature over the challenge alone, which any relay could have asked for, says
// nothing of an audience.
func TestAPlainSignatureHasNoAudience(t *testing.T) {
	g, _ := keyGate()
	ann := newIdentity(t)
	challenge, err := g.BoundChallenge(t.Context(), ann.DID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prove(t, g, proof(ann, challenge, challenge, here)); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("a plain signature with an audience: %v, want %v", err, auth.ErrSignature)
	}
}
