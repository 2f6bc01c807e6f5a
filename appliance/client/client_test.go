package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/identity"
)

func newClient(t testing.TB, base string) *client.Client {
	t.Helper()
	c, err := client.New(base)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	who, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func TestWalletsCalls(t *testing.T) {
	_, base := newRelay(t)
	for _, suffix := range []string{"", "/", "/didcomm", "/didcomm/"} {
		t.Run(base+suffix, func(t *testing.T) {
			c, ann, bob := newClient(t, base+suffix), newIdentity(t), newIdentity(t)
			if err := c.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			envelope := identity.SampleEnvelope(100, ann.KeyID(), bob.KeyID())
			ids, err := c.Deposit(t.Context(), envelope)
			if err != nil || len(ids) != 2 {
				t.Fatalf("Deposit = %v, %v; want an id for each of two", ids, err)
			}
			got, err := c.Fetch(t.Context(), ann)
			want := []client.Message{{ID: ids[0], Envelope: string(envelope), Received: time.UnixMilli(1767225600123).UTC()}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Fetch: %v, -want +got:\n%s", err, diff)
			}
			if n, err := c.Remove(t.Context(), ann, ids); n != 1 || err != nil {
				t.Errorf("Remove of one's own and another's = %d, %v; want 1", n, err)
			}
			if n, err := c.Remove(t.Context(), ann, nil); n != 0 || err != nil {
				t.Errorf("Remove of nothing = %d, %v; want 0", n, err)
			}
			if left, err := c.Fetch(t.Context(), ann); len(left) != 0 || err != nil {
				t.Errorf("Fetch after Remove = %v, %v; want none", left, err)
			}
			if left, err := c.Fetch(t.Context(), bob); len(left) != 1 || err != nil {
				t.Errorf("the other's mailbox = %v, %v; want one message", left, err)
			}
		})
	}
}

func TestRefusalCarriesTheRelaysWords(t *testing.T) {
	_, base := newRelay(t)
	c, ann := newClient(t, base), newIdentity(t)
	p, err := c.Prove(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.FetchWith(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	_, err = c.FetchWith(t.Context(), p)
	want := &client.Error{Status: 401, Message: "challenge is unknown, expired or already used", RetryAfter: 7 * time.Second}
	if got, _ := errors.AsType[*client.Error](err); got == nil || *got != *want {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func TestRefusalsOfAllKinds(t *testing.T) {
	for _, tt := range []struct {
		name, body, retryAfter string
		want                   client.Error
	}{
		{"an error", `{"error":"mailbox full"}`, "60", client.Error{Status: 503, Message: "mailbox full", RetryAfter: time.Minute}},
		{"not ready", `{"ready":false,"reason":"disk full"}`, "", client.Error{Status: 503, Message: "disk full"}},
		{"nothing", ``, "", client.Error{Status: 503}},
		{"HTML", `<html>`, "soon", client.Error{Status: 503}},
		{"an error that is no text", `{"error":{}}`, "-1", client.Error{Status: 503}},
		{"too much", `{"error":"` + strings.Repeat("x", 1<<20) + `"}`, "99999999999999", client.Error{Status: 503}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.retryAfter)
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, tt.body)
			}))
			err := c.Health(t.Context())
			if got, _ := errors.AsType[*client.Error](err); got == nil || *got != tt.want {
				t.Errorf("error = %v, want %v", err, &tt.want)
			}
		})
	}
}

func TestErrorQuotesAStranger(t *testing.T) {
	e := &client.Error{Status: 400, Message: "\x1b[2Jgone"}
	if got := e.Error(); strings.Contains(got, "\x1b") || !strings.Contains(got, "400") {
		t.Errorf("Error() = %q", got)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
	}{
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html></html>") }},
		{"nothing", func(http.ResponseWriter, *http.Request) {}},
		{"no challenge", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"challenge":"`+strings.Repeat("c", 43)+`"}`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"without end", func(w http.ResponseWriter, _ *http.Request) {
			for block := strings.Repeat(" ", 1<<20); ; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, serve(t, tt.h))
			c.MaxAnswer = 1 << 20
			if got, err := c.Prove(t.Context(), newIdentity(t)); err == nil {
				t.Errorf("Prove = %v, want an error", got)
			}
		})
	}
}

func TestNewWantsAnHTTPAddress(t *testing.T) {
	for _, base := range []string{"", "localhost:4236", "ftp://host", "http://", "http://host?x=1"} {
		if _, err := client.New(base); err == nil {
			t.Errorf("New(%q) took it", base)
		}
	}
}

func TestSelftestPasses(t *testing.T) {
	for _, binds := range []bool{false, true} {
		t.Run(fmt.Sprintf("a relay that binds challenges: %v", binds), func(t *testing.T) { testSelftestPasses(t, binds) })
	}
}

func testSelftestPasses(t *testing.T, binds bool) {
	r, base := newRelay(t, func(r *relay) { r.binds = binds })
	var names []string
	err := newClient(t, base).Selftest(t.Context(), func(s client.Step) {
		names = append(names, s.Name)
		if s.Err != nil || s.Took < 0 {
			t.Errorf("%s: %v in %v", s.Name, s.Err, s.Took)
		}
	})
	if err != nil || len(names) != 9 {
		t.Errorf("%d steps, %v; want 9 that pass: %q", len(names), err, names)
	}
	for i, to := range r.to {
		if to != "" {
			t.Errorf("left %s behind", r.held[i].ID)
		}
	}
}

func TestSelftestFindsTheFault(t *testing.T) {
	for _, tt := range []struct {
		fault func(*relay)
		last  string // the step that fails
		says  string
	}{
		{func(r *relay) { r.notReady = true }, "the relay is ready", "not ready"},
		{func(r *relay) { r.corrupts = true }, "the envelope is unchanged", "not what was deposited"},
		{func(r *relay) { r.replays = true }, "a replayed challenge is refused", "want 401"},
		{func(r *relay) { r.trusts = true }, "a forged signature is refused", "want 401"},
		{func(r *relay) { r.trusts, r.binds = true, true }, "a forged signature is refused", "want 401"},
		{func(r *relay) { r.keeps = true }, "the mailbox is empty", "want none"},
	} {
		t.Run(tt.last, func(t *testing.T) {
			_, base := newRelay(t, tt.fault)
			var last client.Step
			err := newClient(t, base).Selftest(t.Context(), func(s client.Step) { last = s })
			if err == nil || last.Name != tt.last || !errors.Is(err, last.Err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("ended at %q with %v; want %q to say %q", last.Name, err, tt.last, tt.says)
			}
		})
	}
}

func TestSelftestWithoutARelay(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	if err := newClient(t, base).Selftest(t.Context(), func(client.Step) {}); err == nil {
		t.Error("passed against a server that is no relay")
	}
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
