package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/didcomm"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

const good = "https://good.example/didcomm" // a relay's name

// newGate is the gate of a relay that is called audience.
func newGate(audience string) *auth.Gate {
	return &auth.Gate{Challenges: &relay{live: map[string]bool{}}, Resolver: resolve.Key{}, Audience: audience}
}

func bound(t testing.TB, g *auth.Gate, to did.ID) string {
	t.Helper()
	text, err := g.BoundChallenge(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answers is a relay that answers whatever it is asked with one challenge.
type answers struct {
	challenge, audience string
	asked               []string // paths and queries
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.RequestURI())
	b, err := json.Marshal(map[string]string{"challenge": a.challenge, "audience": a.audience})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(b)))}, err
}

// callsOf makes a client whose relay is a.
func callsOf(t testing.TB, base string, a *answers) *client.Client {
	t.Helper()
	c := newClient(t, base)
	c.HTTP.Transport = a
	return c
}

func TestWhatIsNoChallengeIsNotSigned(t *testing.T) {
	who := newIdentity(t)
	forGood := bound(t, newGate(good), who.DID())
	c43 := strings.Repeat("c", 43)
	for _, tt := range []struct{ name, text string }{
		{"a proof for another relay", "holdmail pickup\n" + good + "\n" + forGood},
		{"a short one", c43[1:]},
		{"a long one", c43 + "c"},
		{"between the two", strings.Repeat("c", 64)},
		{"a short bound one", forGood[1:]},
		{"a long bound one", forGood + "c"},
		{"a line feed at the end", c43[1:] + "\n"},
		{"a line feed behind it", c43 + "\n"},
		{"another alphabet", c43[2:] + "+/"},
		{"padding", c43[1:] + "="},
		{"letters of two bytes", strings.Repeat("é", 43)},
	} {
		for _, audience := range []string{"", good} {
			t.Run(tt.name+audience, func(t *testing.T) {
				a := &answers{challenge: tt.text, audience: audience}
				c := callsOf(t, good, a)
				if p, err := c.Prove(t.Context(), who); !errors.Is(err, client.ErrNotChallenge) || p != (client.Proof{}) {
					t.Errorf("Prove = %+v, %v; want ErrNotChallenge", p, err)
				}
				if _, err := c.Fetch(t.Context(), who); !errors.Is(err, client.ErrNotChallenge) {
					t.Errorf("Fetch: %v, want ErrNotChallenge", err)
				}
				if _, err := c.Remove(t.Context(), who, nil); !errors.Is(err, client.ErrNotChallenge) {
					t.Errorf("Remove: %v, want ErrNotChallenge", err)
				}
				for _, path := range a.asked {
					if !strings.HasPrefix(path, "/didcomm/api/v1/challenge?did=did%3Akey%3A") {
						t.Errorf("called %s, want no call but for a challenge for the DID", path)
					}
				}
			})
		}
	}
}

// A relay in the middle hands on the challenge of another as its own.
func TestProofForOneRelayIsNoneForAnother(t *testing.T) {
	who, gate := newIdentity(t), newGate(good)
	c := callsOf(t, "https://hostile.example", &answers{challenge: bound(t, gate, who.DID()), audience: "https://hostile.example/didcomm"})
	p, err := c.Prove(t.Context(), who)
	if err != nil || p.Audience != "https://hostile.example/didcomm" {
		t.Fatalf("Prove = %+v, %v; want a proof for the relay that was called", p, err)
	}
	for _, audience := range []string{"", good, p.Audience} {
		gate.Challenges.(*relay).live[p.Challenge] = true
		spent, err := gate.Spend(t.Context(), auth.Proof{DID: p.DID, Challenge: p.Challenge, Signature: p.Signature, Audience: audience})
		if err != nil {
			t.Fatal(err)
		}
		if id, err := gate.Verify(t.Context(), spent); err == nil {
			t.Errorf("with the audience %q the other relay took it as %s", audience, id)
		}
	}
}

func TestWhichRelayAProofIsFor(t *testing.T) {
	for _, tt := range []struct {
		base, audience string
		named          bool // the proof is for the audience, else a plain one
	}{
		{good, good, true},
		{"https://good.example", good, true},
		{"https://GOOD.example:443/", good, true},
		{"http://good.example", "http://good.example:80/other", true},
		{"http://[::1]:4236/didcomm", "http://[::1]:4236", true},
		{good, "", false},
		{good, "https://other.example/didcomm", false},
		{good, "https://good.example.other.example/didcomm", false},
		{good, "https://good.example@other.example/didcomm", false},
		{good, "https://good.example:8443/didcomm", false},
		{"http://good.example", good, false},
		{"http://good.example:443", good, false},
		{good, "good.example", false},
		{good, "https:///didcomm", false},
		{good, "https://good.example/didcomm\nhttps://other.example", false},
	} {
		t.Run(tt.base+" "+tt.audience, func(t *testing.T) {
			who, want := newIdentity(t), ""
			if tt.named {
				want = tt.audience
			}
			gate := newGate(want)
			p, err := callsOf(t, tt.base, &answers{challenge: bound(t, gate, who.DID()), audience: tt.audience}).Prove(t.Context(), who)
			if err != nil || p.Audience != want {
				t.Fatalf("Prove = %+v, %v; want the audience %q", p, err, want)
			}
			spent, err := gate.Spend(t.Context(), auth.Proof(p))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gate.Verify(t.Context(), spent); err != nil {
				t.Errorf("the relay's gate: %v", err)
			}
		})
	}
}

func TestInsistingOnAnAudience(t *testing.T) {
	challenge := strings.Repeat("c", 43)
	for _, tt := range []struct{ name, audience, says string }{
		{"a plain relay", "", "names itself nothing"},
		{"another relay", "https://other.example/didcomm", `"https://other.example/didcomm"`},
		{"the relay that is called", "https://called.example/didcomm", `"https://called.example/didcomm"`},
		{"nearly the one", good + "/", good + `/"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &answers{challenge: challenge, audience: tt.audience}
			c := callsOf(t, "https://called.example/didcomm", a)
			c.Audience = good
			p, err := c.Prove(t.Context(), newIdentity(t))
			if !errors.Is(err, client.ErrAudience) || !strings.Contains(err.Error(), tt.says) || p != (client.Proof{}) {
				t.Errorf("Prove = %+v, %v; want ErrAudience that says %s", p, err, tt.says)
			}
			if _, err := c.Fetch(t.Context(), newIdentity(t)); !errors.Is(err, client.ErrAudience) || len(a.asked) != 2 {
				t.Errorf("Fetch: %v after %q, want ErrAudience after asking for a challenge", err, a.asked)
			}
		})
	}
	t.Run("the one, by another address", func(t *testing.T) {
		c := callsOf(t, "http://localhost:4236", &answers{challenge: challenge, audience: good})
		c.Audience = good
		if p, err := c.Prove(t.Context(), newIdentity(t)); err != nil || p.Audience != good {
			t.Errorf("Prove = %+v, %v; want a proof for %s", p, err, good)
		}
	})
}

// emptyMailbox has no mail for anybody.
type emptyMailbox struct{ didcomm.Mailbox }

func (emptyMailbox) Fetch(context.Context, did.ID, string) iter.Seq2[storage.Message, error] {
	return func(func(storage.Message, error) bool) {}
}

func (emptyMailbox) Remove(context.Context, did.ID, []string) (int, error) { return 0, nil }

func TestRelaysDoorTakesAProofForIt(t *testing.T) {
	var audiences []string
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var p client.Proof
			body, err := io.ReadAll(r.Body)
			if err != nil || json.Unmarshal(body, &p) != nil {
				t.Errorf("the call is %q, %v", body, err)
			}
			audiences = append(audiences, p.Audience)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	d := &didcomm.Door{Mailbox: emptyMailbox{}, Gate: newGate(server.URL), Endpoint: server.URL}
	for _, route := range d.Routes() {
		mux.Handle(route.Method+" "+route.Path, door.Handle(route, d.Rules(), door.NewJournal(slog.New(slog.DiscardHandler))))
	}

	who := newIdentity(t)
	c := newClient(t, server.URL)
	if _, err := c.Fetch(t.Context(), who); err != nil {
		t.Errorf("Fetch: %v", err)
	}
	if _, err := c.Remove(t.Context(), who, nil); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if len(audiences) != 2 || audiences[0] != server.URL || audiences[1] != server.URL {
		t.Errorf("proofs for %q, want two for %s", audiences, server.URL)
	}
}
