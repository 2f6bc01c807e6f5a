package e2e

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// proof is the body of a fetch or remove with these members, in any shape.
type proof map[string]any

// prove is a proof that is good: w's signature over a fresh challenge.
func prove(t testing.TB, r *relay, w wallet) proof {
	t.Helper()
	challenge, err := r.challenge()
	if err != nil {
		t.Fatal(err)
	}
	p := proof{"ids": []string{}}
	p.sign(w, challenge)
	return p
}

// sign makes p a proof by w for challenge.
func (p proof) sign(w wallet, challenge string) {
	p["did"], p["challenge"], p["signature"] = w.DID, challenge, w.sign(challenge)
}

// text is a member of p that is a string.
func (p proof) text(member string) string { return p[member].(string) }

// present sends p to one of the calls that ask for a proof.
func (r *relay) present(t testing.TB, call string, p proof) answer {
	t.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return r.post(t, "/api/v1/messages/"+call, "application/json", string(body))
}

func TestBadProofsAreRefused(t *testing.T) {
	g := startGatekeeper(t)
	r := startRelay(t, "ARCHON_GATEKEEPER_URL="+g.URL)
	w, stranger := newWallet(t), newWallet(t)
	unknown := newWallet(t)
	unknown.DID = "did:cid:unknown"
	for _, tt := range []struct {
		name   string
		spoil  func(proof)
		status int
	}{
		{"unknown challenge", func(p proof) { p.sign(w, strings.Repeat("A", 43)) }, 401},
		{"empty challenge", func(p proof) { p.sign(w, "") }, 401},
		{"signed by somebody else", func(p proof) { p["signature"] = stranger.sign(p.text("challenge")) }, 401},
		{"signed something else", func(p proof) { p["signature"] = w.sign("something else") }, 401},
		{"somebody else's DID", func(p proof) { p["did"] = stranger.DID }, 401},
		{"a DID nobody knows", func(p proof) { p.sign(unknown, p.text("challenge")) }, 401},
		{"high S", func(p proof) { p["signature"] = highS(t, p.text("signature")) }, 401},
		{"signature cut short", func(p proof) { p["signature"] = p.text("signature")[:126] }, 401},
		{"signature too long", func(p proof) { p["signature"] = p.text("signature") + "00" }, 401},
		{"signature with 0x", func(p proof) { p["signature"] = "0x" + p.text("signature") }, 401},
		{"signature with 0x in place", func(p proof) { p["signature"] = "0x" + p.text("signature")[2:] }, 401},
		{"signature of zeros", func(p proof) { p["signature"] = strings.Repeat("0", 128) }, 401},
		{"signature empty", func(p proof) { p["signature"] = "" }, 401},
		{"no did", func(p proof) { delete(p, "did") }, 400},
		{"no challenge", func(p proof) { delete(p, "challenge") }, 400},
		{"no signature", func(p proof) { delete(p, "signature") }, 400},
		{"did is no string", func(p proof) { p["did"] = 1 }, 400},
		{"challenge is no string", func(p proof) { p["challenge"] = nil }, 400},
		{"signature is no string", func(p proof) { p["signature"] = []string{p.text("signature")} }, 400},
		{"DID in another case", func(p proof) { p["DID"] = p["did"]; delete(p, "did") }, 400},
		{"did with a fragment", func(p proof) { p["did"] = w.KeyID() }, 400},
		{"did with a path", func(p proof) { p["did"] = w.DID + "/" }, 400},
		{"did with a query", func(p proof) { p["did"] = w.DID + "?versionId=1" }, 400},
		{"did that is none", func(p proof) { p["did"] = "alice" }, 400},
		{"did is empty", func(p proof) { p["did"] = "" }, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, call := range []string{"fetch", "remove"} {
				p := prove(t, r, w)
				tt.spoil(p)
				wantRefusal(t, r.present(t, call, p), tt.status)
			}
		})
	}
}

// highS is the other signature that the same key gives: s replaced by n-s.
func highS(t testing.TB, signature string) string {
	t.Helper()
	raw, err := hex.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	var s secp256k1.ModNScalar
	s.SetByteSlice(raw[32:])
	high := s.Negate().Bytes()
	return hex.EncodeToString(append(raw[:32], high[:]...))
}

func TestBodiesThatAreNoProofAreRefused(t *testing.T) {
	r := startRelay(t)
	for _, call := range []string{"fetch", "remove"} {
		for _, body := range []string{``, `null`, `[]`, `"x"`, `{`, `{}{}`, "{\"did\":\"\xff\"}", `hello`} {
			t.Run(call+" "+body, func(t *testing.T) {
				wantRefusal(t, r.post(t, "/api/v1/messages/"+call, "application/json", body), 400)
			})
		}
	}
}

func TestGoodProofs(t *testing.T) {
	r := startRelay(t)
	w := newWallet(t)
	upper := prove(t, r, w)
	upper["signature"] = strings.ToUpper(upper.text("signature"))
	extra := prove(t, r, w)
	extra["somebody"], extra["else"] = "s", map[string]any{"business": 1}
	for name, p := range map[string]proof{"plain": prove(t, r, w), "hex in upper case": upper, "more members": extra} {
		t.Run(name, func(t *testing.T) {
			wantJSON(t, r.present(t, "fetch", p), `{"messages":[]}`)
		})
	}
	for _, contentType := range []string{"", "text/plain", "application/octet-stream"} {
		for _, mark := range []string{"", "\ufeff"} {
			challenge, err := r.challenge()
			if err != nil {
				t.Fatal(err)
			}
			body := mark + string(w.proof(challenge))
			wantJSON(t, r.post(t, "/api/v1/messages/fetch", contentType, body), `{"messages":[]}`)
		}
	}
}

func TestWhatSpendsAChallenge(t *testing.T) {
	r := startRelay(t) // its Gatekeeper is not there
	w := newWallet(t)
	for _, tt := range []struct {
		name, call string
		spoil      func(proof)
		status     int
		spent      bool
	}{
		{"a fetch", "fetch", func(proof) {}, 200, true},
		{"a remove", "remove", func(proof) {}, 200, true},
		{"a bad signature", "fetch", func(p proof) { p["signature"] = strings.Repeat("1", 128) }, 401, true},
		{"a malformed signature", "fetch", func(p proof) { p["signature"] = "x" }, 401, true},
		{"a DID with a fragment", "fetch", func(p proof) { p["did"] = w.KeyID() }, 400, true},
		{"a DID that cannot be resolved", "fetch", func(p proof) { p["did"] = "did:cid:x" }, 503, true},
		{"ids that are no array", "remove", func(p proof) { p["ids"] = "x" }, 400, true},
		{"no ids", "remove", func(p proof) { delete(p, "ids") }, 400, true},
		{"no did", "fetch", func(p proof) { delete(p, "did") }, 400, false},
		{"no signature", "fetch", func(p proof) { delete(p, "signature") }, 400, false},
		{"no did, no ids", "remove", func(p proof) { delete(p, "did"); delete(p, "ids") }, 400, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := prove(t, r, w)
			challenge := p.text("challenge")
			tt.spoil(p)
			if a := r.present(t, tt.call, p); a.Status != tt.status {
				t.Errorf("%s: %d %s, want %d", tt.call, a.Status, a.Body, tt.status)
			}
			want := http.StatusOK
			if tt.spent {
				want = http.StatusUnauthorized
			}
			again := proof{}
			again.sign(w, challenge)
			if a := r.present(t, "fetch", again); a.Status != want {
				t.Errorf("the same challenge again: %d %s, want %d", a.Status, a.Body, want)
			}
		})
	}
}
