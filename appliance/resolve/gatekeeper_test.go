package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

// gatekeeper returns a resolver that asks h.
func gatekeeper(t testing.TB, h http.HandlerFunc) *resolve.Gatekeeper {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return dial(t, server.URL)
}

func dial(t testing.TB, base string) *resolve.Gatekeeper {
	t.Helper()
	g, err := resolve.NewGatekeeper(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// says answers every question with status and body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// found is the answer for a DID that is there.
func found(id string) string {
	return `{"didDocument":{"id":"` + id + `","verificationMethod":[{"publicKeyJwk":{"kty":"EC","crv":"secp256k1","x":"h0wVx_2iDlOcblulc8E5iEw1EYh5n1RYtLQfeSTyNc0","y":"O2EATIGbu6DezKFptj5scAIRntgfecanVNXxat1rnwE"}}]},` +
		`"didDocumentMetadata":{"versionSequence":"1"},"didDocumentData":{"error":"data"},"didResolutionMetadata":{"retrieved":"2026-01-01T00:00:00Z"}}`
}

func TestGatekeeperAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   error
	}{
		{"a document", 200, found("did:cid:ann"), nil},
		{"a document under the Gatekeeper's own prefix", 200, found("did:test:ann"), nil},
		{"a document without an id", 200, found(""), nil},
		{"a deactivated DID", 200, `{"didDocument":{"id":"did:cid:ann"},"didDocumentMetadata":{"deactivated":true}}`, did.ErrNoKey},

		{"notFound", 200, `{"didResolutionMetadata":{"error":"notFound"},"didDocument":{},"didDocumentMetadata":{}}`, resolve.ErrNotFound},
		{"invalidDid", 200, `{"didResolutionMetadata":{"error":"invalidDid"},"didDocument":{}}`, resolve.ErrNotFound},
		{"notFound and null", 200, `{"didResolutionMetadata":{"error":"notFound"},"didDocument":null}`, resolve.ErrNotFound},
		{"an error beside a document", 200, `{"didResolutionMetadata":{"error":"notFound"},"didDocument":{"id":"did:cid:ann"}}`, resolve.ErrNotFound},
		{"an empty document", 200, `{"didDocument":{}}`, did.ErrNoKey},
		{"another DID's document", 200, found("did:cid:bob"), resolve.ErrNotFound},
		{"404 with an error", 404, `{"error":"DID not found"}`, resolve.ErrNotFound},
		{"400 with an error", 400, `{"didDocument":null,"didResolutionMetadata":{"error":"invalidDid"}}`, resolve.ErrNotFound},
		{"410", 410, `{"didDocument":null,"didResolutionMetadata":{"error":"deactivated"}}`, resolve.ErrNotFound},

		{"an unreadable document", 200, `{"didDocument":{"id":1}}`, did.ErrNoKey},
		{"a document that is no object", 200, `{"didDocument":"did:cid:ann"}`, did.ErrNoKey},

		{"404 of an endpoint", 404, `{"message":"Endpoint not found"}`, resolve.ErrUnreachable},
		{"404 with a document", 404, found("did:cid:ann"), resolve.ErrUnreachable},
		{"404 in HTML", 404, `<html>not found</html>`, resolve.ErrUnreachable},
		{"an internal error", 200, `{"didResolutionMetadata":{"error":"internalError"},"didDocument":{}}`, resolve.ErrUnreachable},
		{"500", 500, `{"error":"DID not found"}`, resolve.ErrUnreachable},
		{"503", 503, found("did:cid:ann"), resolve.ErrUnreachable},
		{"401", 401, `{"error":"Unauthorized"}`, resolve.ErrUnreachable},
		{"204", 204, ``, resolve.ErrUnreachable},
		{"nothing", 200, ``, resolve.ErrUnreachable},
		{"HTML", 200, `<html></html>`, resolve.ErrUnreachable},
		{"a number", 200, `42`, resolve.ErrUnreachable},
		{"null", 200, `null`, resolve.ErrUnreachable},
		{"other JSON", 200, `{"ready":true}`, resolve.ErrUnreachable},
		{"two values", 200, found("did:cid:ann") + found("did:cid:ann"), resolve.ErrUnreachable},
		{"half a document", 200, found("did:cid:ann")[:60], resolve.ErrUnreachable},
		{"too long", 200, strings.Repeat(" ", 1<<20) + found("did:cid:ann"), resolve.ErrUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := gatekeeper(t, says(tt.status, tt.body)).Resolve(t.Context(), "did:cid:ann")
			if !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "ann") {
				t.Errorf("error tells the DID: %v", err)
			}
		})
	}
}

func TestGatekeeperIsAskedForTheDIDAsItIs(t *testing.T) {
	var asked atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.RequestURI)
		fmt.Fprint(w, found(""))
	}))
	t.Cleanup(server.Close)
	for _, tt := range []struct{ base, want string }{
		{"", "GET /api/v1/did/"},
		{"/", "GET /api/v1/did/"},
		{"/gate", "GET /gate/api/v1/did/"},
	} {
		for _, id := range []did.ID{"did:cid:ann", "did:web:host%3A8443:a", "did:web:host%3a8443", "did:x:%2e%2E%2F%00%25", "did:x::a"} {
			if _, err := dial(t, server.URL+tt.base).Resolve(t.Context(), id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if got := asked.Load(); got != tt.want+string(id) {
				t.Errorf("base %q: asked %q, want %q", tt.base, got, tt.want+string(id))
			}
		}
	}
}

func TestGatekeeperMayRedirect(t *testing.T) {
	g := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.EscapedPath(), http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, found("did:web:host%3A8443"))
	})
	if doc, err := g.Resolve(t.Context(), "did:web:host%3A8443"); err != nil || doc.ID != "did:web:host%3A8443" {
		t.Errorf("Resolve = %v, %v", doc, err)
	}
}

func TestGatekeeperMayNotRedirectForever(t *testing.T) {
	var asked atomic.Int32
	g := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	})
	if _, err := g.Resolve(t.Context(), "did:cid:ann"); !errors.Is(err, resolve.ErrUnreachable) {
		t.Errorf("error = %v, want ErrUnreachable", err)
	}
	if n := asked.Load(); n > 10 {
		t.Errorf("asked %d times", n)
	}
}

func TestGatekeeperThatHangs(t *testing.T) {
	g := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	g.Timeout = 20 * time.Millisecond
	if _, err := g.Resolve(t.Context(), "did:cid:ann"); !errors.Is(err, resolve.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want ErrUnreachable for the time", err)
	}
}

func TestGatekeeperThatBreaksOff(t *testing.T) {
	g := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, found("did:cid:ann"))
	})
	if _, err := g.Resolve(t.Context(), "did:cid:ann"); !errors.Is(err, resolve.ErrUnreachable) {
		t.Errorf("error = %v, want ErrUnreachable", err)
	}
}

func TestGatekeeperThatIsNotUpYet(t *testing.T) {
	server := httptest.NewUnstartedServer(says(200, found("did:cid:ann")))
	t.Cleanup(server.Close)
	g := dial(t, "http://"+server.Listener.Addr().String())
	server.Listener.Close()
	_, err := g.Resolve(t.Context(), "did:cid:ann")
	if !errors.Is(err, resolve.ErrUnreachable) || strings.Contains(err.Error(), "ann") {
		t.Errorf("error = %v, want ErrUnreachable without the DID", err)
	}
}

func TestNoErrorOfTheGatekeeperTellsTheDID(t *testing.T) {
	const id = "did:cid:ann"
	refused := httptest.NewServer(nil)
	refused.Close()
	unknown := httptest.NewTLSServer(says(200, found(id)))
	t.Cleanup(unknown.Close)
	plain := httptest.NewServer(says(200, found(id)))
	t.Cleanup(plain.Close)
	// to is a server that sends whoever asks to where, with the DID at the end.
	to := func(where string) *resolve.Gatekeeper {
		return gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", where+strings.TrimPrefix(r.URL.Path, "/api/v1/did/"))
			w.WriteHeader(http.StatusFound)
		})
	}
	// writes is a server that answers in these bytes.
	writes := func(text string) *resolve.Gatekeeper {
		return gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, text)
		})
	}
	hangs := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	hangs.Timeout = 20 * time.Millisecond
	for name, g := range map[string]*resolve.Gatekeeper{
		"redirects to no URL":               to("http://%zz/"),
		"redirects to no port":              to("http://127.0.0.1:"),
		"redirects to no scheme":            to("gopher://127.0.0.1/"),
		"redirects to no host":              to("http:///"),
		"redirects to itself":               to("/api/v1/did/"),
		"redirects to one who refuses":      to(refused.URL + "/"),
		"redirects to an unknown authority": to(unknown.URL + "/"),
		"redirects to HTTPS that is none":   to(strings.Replace(plain.URL, "http:", "https:", 1) + "/"),
		"refuses":                           dial(t, refused.URL),
		"hangs":                             hangs,
		"is of an unknown authority":        dial(t, unknown.URL),
		"speaks no TLS":                     dial(t, strings.Replace(plain.URL, "http:", "https:", 1)),
		"has a malformed status line":       writes(id + " 200 OK\r\n\r\n"),
		"has a malformed status":            writes("HTTP/1.1 " + id + "\r\n\r\n"),
		"has a malformed header":            writes("HTTP/1.1 200 OK\r\n" + id + "\r\n\r\n"),
		"has a malformed length":            writes("HTTP/1.1 200 OK\r\nContent-Length: " + id + "\r\n\r\n"),
		"has a malformed encoding":          writes("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + id + "\r\n\r\n"),
		"has a malformed chunk":             writes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + id + "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := g.Resolve(t.Context(), id)
			if !errors.Is(err, resolve.ErrUnreachable) || !strings.Contains(err.Error(), "the Gatekeeper") {
				t.Fatalf("error = %v, want ErrUnreachable for the Gatekeeper", err)
			}
			wantSecret(t, err, "did:", "ann", "127.0.0.1", "http:/")
		})
	}
}

func TestFloodOpensFewConnections(t *testing.T) {
	const bound = 16
	var now, most atomic.Int32
	arrived, release := make(chan struct{}, 10*bound), make(chan struct{})
	g := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		fmt.Fprint(w, found(""))
	})
	var flood sync.WaitGroup
	for i := range 10 * bound {
		flood.Go(func() {
			if _, err := g.Resolve(t.Context(), did.ID(fmt.Sprintf("did:cid:%d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	for range bound {
		<-arrived
	}

	// Who waits for a connection can still go away.
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.Resolve(impatient, "did:cid:ann"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, resolve.ErrUnreachable) {
		t.Errorf("error = %v, want ErrUnreachable for the time", err)
	}

	close(release)
	flood.Wait()
	if m := most.Load(); m > bound {
		t.Errorf("%d questions at once, want at most %d", m, bound)
	}
}

func TestNewGatekeeperWantsAnHTTPAddress(t *testing.T) {
	for _, base := range []string{"", "localhost:4224", "ftp://host", "http://", "/path", "http://host?x=1", "http://host#x", "http://ho st"} {
		if _, err := resolve.NewGatekeeper(base); err == nil {
			t.Errorf("NewGatekeeper(%q) took it", base)
		}
	}
	for _, base := range []string{"http://localhost:4224", "https://user:secret@host/gate/"} {
		if _, err := resolve.NewGatekeeper(base); err != nil {
			t.Errorf("NewGatekeeper(%q): %v", base, err)
		}
	}
}
