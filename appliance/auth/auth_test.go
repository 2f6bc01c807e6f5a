package auth_test

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

// challenges are those that are live. An err fails every call.
type challenges struct {
	mu   sync.Mutex // guards all below
	live map[string]bool
	asks int // calls of Consume
	// holders of the last that was issued
	holders []storage.Holder
	err     error
}

func (c *challenges) Issue(_ context.Context, challenge string, holders ...storage.Holder) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.live[challenge] = true
		c.holders = holders
	}
	return c.err
}

func (c *challenges) Consume(_ context.Context, challenge string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks++
	live := c.live[challenge]
	delete(c.live, challenge)
	return live, c.err
}

// directory resolves every DID to doc and err, and counts the questions.
type directory struct {
	doc   did.Document
	err   error
	asked atomic.Int32
}

func (d *directory) Resolve(context.Context, did.ID) (did.Document, error) {
	d.asked.Add(1)
	return d.doc, d.err
}

// vector is a signature that Node's crypto made: see testdata/node.mjs.
type vector struct {
	PublicKeyJWK did.JWK `json:"publicKeyJwk"`
	Challenge    string  `json:"challenge"`
	Low          string  `json:"low"`  // r and s, with s in the lower half
	High         string  `json:"high"` // the same r, and the order less s
}

//go:embed testdata/node.json
var nodeVectors []byte

func vectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	if err := json.Unmarshal(nodeVectors, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	return all
}

// gateFor returns a gate at which v's challenge is live and v's key is known.
func gateFor(t testing.TB, v vector) (*auth.Gate, *challenges, *directory) {
	c := &challenges{live: map[string]bool{v.Challenge: true}}
	d := &directory{doc: did.Document{Signing: keyOf(t, v.PublicKeyJWK)}}
	return &auth.Gate{Challenges: c, Resolver: d}, c, d
}

func prove(t testing.TB, g *auth.Gate, p auth.Proof) (did.ID, error) {
	t.Helper()
	spent, err := g.Spend(t.Context(), p)
	if err != nil {
		t.Fatalf("Spend: %v", err)
	}
	return g.Verify(t.Context(), spent)
}

func TestChallengeIsFreshAndLive(t *testing.T) {
	c := &challenges{live: map[string]bool{}}
	g := &auth.Gate{Challenges: c}
	for range 100 {
		text, err := g.Challenge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(b) != 32 {
			t.Fatalf("challenge %q is %d bytes, %v; want 32", text, len(b), err)
		}
	}
	if len(c.live) != 100 {
		t.Errorf("%d challenges are live, want 100 distinct ones", len(c.live))
	}
}

func TestChallengeCountsToItsHolders(t *testing.T) {
	c := &challenges{live: map[string]bool{}}
	g := &auth.Gate{Challenges: c}
	want := []storage.Holder{{Name: "203.0.113.1", Most: 7}, {Name: "onion", Most: 9}}
	if _, err := g.Challenge(t.Context(), want...); err != nil || !slices.Equal(c.holders, want) {
		t.Errorf("holders = %v, %v; want %v", c.holders, err, want)
	}
}

func TestChallengeCeilingPassesThrough(t *testing.T) {
	g := &auth.Gate{Challenges: &challenges{err: storage.ErrTooManyChallenges}}
	if _, err := g.Challenge(t.Context()); !errors.Is(err, storage.ErrTooManyChallenges) {
		t.Errorf("error = %v, want ErrTooManyChallenges", err)
	}
}

func TestSignaturesOfNode(t *testing.T) {
	for _, v := range vectors(t) {
		g, _, _ := gateFor(t, v)
		if id, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.Low}); id != "did:cid:ann" || err != nil {
			t.Errorf("low-S: %q, %v; want did:cid:ann", id, err)
		}
		g, _, _ = gateFor(t, v)
		if id, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.High}); id != "" || !errors.Is(err, auth.ErrSignature) {
			t.Errorf("high-S: %q, %v; want ErrSignature", id, err)
		}
	}
}

func TestFormOfASignature(t *testing.T) {
	const order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	v := vectors(t)[0]
	zero, r, s := strings.Repeat("0", 64), v.Low[:64], v.Low[64:]
	for _, tt := range []struct {
		name, signature string
		good            bool
	}{
		{"lower case", v.Low, true},
		{"upper case", strings.ToUpper(v.Low), true},
		{"mixed case", strings.ToUpper(r) + s, true},
		{"empty", "", false},
		{"0x", "0x" + v.Low, false},
		{"0x in 128 characters", "0x" + v.Low[2:], false},
		{"127 digits", v.Low[:127], false},
		{"129 digits", v.Low + "0", false},
		{"a recovery byte", v.Low + "1b", false},
		{"a space", " " + v.Low[1:], false},
		{"a megabyte", strings.Repeat(v.Low, 8192), false},
		{"not hex", "g" + v.Low[1:], false},
		{"base64url", strings.Repeat("A", 86), false},
		{"r is 0", zero + s, false},
		{"s is 0", r + zero, false},
		{"both are 0", zero + zero, false},
		{"r is the order", order + s, false},
		{"s is the order", r + order, false},
		{"all ones", strings.Repeat("f", 128), false},
		{"s and r", s + r, false},
		{"one bit off", v.Low[:127] + string("1032547698badcfe"[strings.IndexByte("0123456789abcdef", v.Low[127])]), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _, _ := gateFor(t, v)
			_, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: tt.signature})
			if errors.Is(err, auth.ErrSignature) == tt.good || tt.good && err != nil {
				t.Errorf("error = %v, want good: %t", err, tt.good)
			}
		})
	}
}

func TestProofIsGoodOnce(t *testing.T) {
	v := vectors(t)[0]
	g, _, _ := gateFor(t, v)
	var good, dead atomic.Int32
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			spent, err := g.Spend(t.Context(), auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.Low})
			if err != nil {
				t.Error(err)
				return
			}
			switch _, err := g.Verify(t.Context(), spent); {
			case err == nil:
				good.Add(1)
			case errors.Is(err, auth.ErrChallenge):
				dead.Add(1)
			}
		})
	}
	callers.Wait()
	if good.Load() != 1 || dead.Load() != 31 {
		t.Errorf("good %d times, dead %d times; want 1 and 31", good.Load(), dead.Load())
	}
}

func TestEveryAttemptCostsItsChallenge(t *testing.T) {
	v := vectors(t)[0]
	for _, tt := range []struct {
		name  string
		proof auth.Proof
		want  error
		asked int32 // times, of the resolver
	}{
		{"no DID", auth.Proof{DID: "ann", Challenge: v.Challenge, Signature: v.Low}, did.ErrNotDID, 0},
		{"a DID with a version", auth.Proof{DID: "did:cid:ann?versionSequence=1", Challenge: v.Challenge, Signature: v.Low}, did.ErrNotDID, 0},
		{"a key id", auth.Proof{DID: "did:cid:ann#key-1", Challenge: v.Challenge, Signature: v.Low}, did.ErrNotDID, 0},
		{"no signature", auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge}, auth.ErrSignature, 0},
		{"a wrong signature", auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.High}, auth.ErrSignature, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, c, d := gateFor(t, v)
			if _, err := prove(t, g, tt.proof); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			if c.live[v.Challenge] {
				t.Error("the challenge is still live")
			}
			if n := d.asked.Load(); n != tt.asked {
				t.Errorf("the resolver was asked %d times, want %d", n, tt.asked)
			}
		})
	}
}

func TestDeadChallenge(t *testing.T) {
	v := vectors(t)[0]
	for _, tt := range []struct {
		name, challenge string
		asks            int // of the engine
	}{
		{"unknown", strings.Repeat("A", 43), 1},
		{"empty", "", 0},
		{"too short", v.Challenge[1:], 0},
		{"padded", v.Challenge + "=", 0},
		{"a megabyte", strings.Repeat("A", 1<<20), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, c, d := gateFor(t, v)
			if _, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: tt.challenge, Signature: v.Low}); !errors.Is(err, auth.ErrChallenge) {
				t.Errorf("error = %v, want ErrChallenge", err)
			}
			if c.asks != tt.asks || d.asked.Load() != 0 {
				t.Errorf("asked the engine %d times and the resolver %d times, want %d and 0", c.asks, d.asked.Load(), tt.asks)
			}
		})
	}
}

func TestAnotherChallengesSignature(t *testing.T) {
	all := vectors(t)
	g, _, _ := gateFor(t, all[0])
	if _, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: all[0].Challenge, Signature: all[1].Low}); !errors.Is(err, auth.ErrSignature) {
		t.Errorf("error = %v, want ErrSignature", err)
	}
}

func TestUnspentProofIsWorthNothing(t *testing.T) {
	g, _, _ := gateFor(t, vectors(t)[0])
	if _, err := g.Verify(t.Context(), auth.Spent{}); !errors.Is(err, did.ErrNotDID) {
		t.Errorf("error = %v, want ErrNotDID", err)
	}
}

func TestEngineThatFails(t *testing.T) {
	v := vectors(t)[0]
	g, c, _ := gateFor(t, v)
	c.err = storage.ErrClosed
	if _, err := g.Spend(t.Context(), auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.Low}); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("error = %v, want ErrClosed", err)
	}
}

func TestWhatTheResolverSays(t *testing.T) {
	v := vectors(t)[0]
	for _, tt := range []struct {
		name      string
		doc       did.Document
		err, want error
		signature bool // whether the caller is told that the signature is bad
	}{
		{"no such DID", did.Document{}, resolve.ErrNotFound, resolve.ErrNotFound, true},
		{"no key of ours", did.Document{}, did.ErrNoKey, did.ErrNoKey, true},
		{"a document without a key", did.Document{}, nil, did.ErrNoKey, true},
		{"nothing: unreachable", did.Document{}, resolve.ErrUnreachable, resolve.ErrUnreachable, false},
		{"nothing: the caller left", did.Document{}, context.Canceled, context.Canceled, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _, d := gateFor(t, v)
			d.doc, d.err = tt.doc, tt.err
			_, err := prove(t, g, auth.Proof{DID: "did:cid:ann", Challenge: v.Challenge, Signature: v.Low})
			if !errors.Is(err, tt.want) || errors.Is(err, auth.ErrSignature) != tt.signature {
				t.Errorf("error = %v, want %v, as a bad signature: %t", err, tt.want, tt.signature)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	v := vectors(f)[0]
	for _, id := range []string{"did:cid:ann", "did:cid:ann#key-1", ""} {
		for _, challenge := range []string{v.Challenge, "", v.Challenge + "="} {
			for _, signature := range []string{v.Low, v.High, strings.ToUpper(v.Low), "0x" + v.Low, ""} {
				f.Add(id, challenge, signature)
			}
		}
	}
	f.Fuzz(func(t *testing.T, id, challenge, signature string) {
		g, _, _ := gateFor(t, v)
		got, err := prove(t, g, auth.Proof{DID: id, Challenge: challenge, Signature: signature})
		if err == nil && (string(got) != id || challenge != v.Challenge || !strings.EqualFold(signature, v.Low)) {
			t.Errorf("Verify(%q, %q, %q) = %q", id, challenge, signature, got)
		}
	})
}
