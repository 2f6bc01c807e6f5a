package identity_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/identity"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	who, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func TestIdentityIsADIDKey(t *testing.T) {
	who, other := newIdentity(t), newIdentity(t)
	if who.DID() == other.DID() {
		t.Error("two identities are one")
	}
	if id, err := did.OfKeyID(who.KeyID()); err != nil || id != who.DID() {
		t.Errorf("key id %s belongs to %q, %v; want %s", who.KeyID(), id, err, who.DID())
	}
	if _, fragment, _ := strings.Cut(who.KeyID(), "#"); "did:key:"+fragment != string(who.DID()) {
		t.Errorf("key id = %s, want the key's own name after the #", who.KeyID())
	}
}

// always is an engine to which every challenge is live.
type always struct{}

func (always) Issue(context.Context, string, ...storage.Holder) error { return nil }
func (always) Consume(context.Context, string) (bool, error)          { return true, nil }

func TestGateAcceptsWhatAnIdentitySigns(t *testing.T) {
	gate := &auth.Gate{Challenges: always{}, Resolver: resolve.Key{}}
	for range 20 {
		who := newIdentity(t)
		challenge, err := gate.Challenge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		spent, err := gate.Spend(t.Context(), auth.Proof{DID: string(who.DID()), Challenge: challenge, Signature: who.Sign(challenge)})
		if err != nil {
			t.Fatal(err)
		}
		if id, err := gate.Verify(t.Context(), spent); err != nil || id != who.DID() {
			t.Errorf("Verify = %q, %v; want %s", id, err, who.DID())
		}
	}
}

func TestSampleEnvelopeLooksEncrypted(t *testing.T) {
	const size = 1000
	var e struct {
		Protected, Ciphertext string
		Recipients            []struct{ Header struct{ KID string } }
	}
	if err := json.Unmarshal(identity.SampleEnvelope(size, "did:cid:ann#1", "did:cid:bob#1"), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Recipients) != 2 || e.Recipients[0].Header.KID != "did:cid:ann#1" || e.Recipients[1].Header.KID != "did:cid:bob#1" {
		t.Errorf("recipients = %v", e.Recipients)
	}
	if b, err := base64.RawURLEncoding.DecodeString(e.Ciphertext); err != nil || len(b) != size {
		t.Errorf("ciphertext is %d bytes, %v; want %d", len(b), err, size)
	}
	if b, err := base64.RawURLEncoding.DecodeString(e.Protected); err != nil || !json.Valid(b) {
		t.Errorf("protected header is %q, %v", b, err)
	}
}
