package resolve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/resolve"
)

// webHost is an HTTPS server on loopback, and the resolver that may ask it.
type webHost struct {
	*resolve.Web
	id did.ID // its own did:web
}

// newWebHost starts one.
func newWebHost(t testing.TB, h http.HandlerFunc, change ...func(*egress.Rules)) webHost {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	port := server.Listener.Addr().(*net.TCPAddr).Port
	rules := egress.Rules{
		Ports: []uint16{uint16(port)}, Private: true,
		TLS: &tls.Config{RootCAs: trusted, ServerName: "example.com"}, // the certificate's name
	}
	for _, f := range change {
		f(&rules)
	}
	return webHost{resolve.NewWeb(rules), did.ID(fmt.Sprintf("did:web:localhost%%3A%d", port))}
}

// webDocument is one that Ed25519 signs for.
func webDocument(id did.ID) string {
	return `{"id":"` + string(id) + `","verificationMethod":[{"id":"#1","publicKeyMultibase":"z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr"}],"authentication":["#1"]}`
}

func TestWebAsksTheHostForThePath(t *testing.T) {
	var asked atomic.Value
	host := newWebHost(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.RequestURI)
		id := did.ID("did:web:" + strings.Replace(r.Host, ":", "%3A", 1))
		if path := strings.TrimSuffix(r.RequestURI, "/did.json"); path != "/.well-known" {
			id += did.ID(strings.ReplaceAll(path, "/", ":"))
		}
		fmt.Fprint(w, webDocument(id))
	})
	for path, want := range map[did.ID]string{
		"":               "GET /.well-known/did.json",
		":user:Ann":      "GET /user/Ann/did.json",
		":b%C3%BCro%3Fx": "GET /b%C3%BCro%3Fx/did.json",
	} {
		doc, err := host.Resolve(t.Context(), host.id+path)
		if err != nil || doc.ID != string(host.id+path) || doc.Signing.Curve != did.Ed25519 {
			t.Errorf("%s: %v, %v", path, doc, err)
		}
		if got := asked.Load(); got != want {
			t.Errorf("%s: asked %q, want %q", path, got, want)
		}
	}
}

func TestWebAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   func(id did.ID) string
		want   error
	}{
		{"a document", 200, webDocument, nil},
		{"another DID's document", 200, func(id did.ID) string { return webDocument(id + ":bob") }, resolve.ErrNotFound},
		{"a document without an id", 200, func(did.ID) string { return webDocument("") }, resolve.ErrNotFound},
		{"a document without authentication", 200, func(id did.ID) string { return `{"id":"` + string(id) + `"}` }, did.ErrNoKey},
		{"HTML", 200, func(did.ID) string { return "<html>" }, resolve.ErrNotFound},
		{"nothing", 200, func(did.ID) string { return "" }, resolve.ErrNotFound},
		{"a document up to the limit", 200, func(id did.ID) string { return webDocument(id) + strings.Repeat(" ", 64<<10-len(webDocument(id))) }, nil},
		{"a document over it", 200, func(id did.ID) string { return webDocument(id) + strings.Repeat(" ", 64<<10) }, resolve.ErrNotFound},
		{"404", 404, webDocument, resolve.ErrNotFound},
		{"410", 410, webDocument, resolve.ErrNotFound},
		{"500", 500, webDocument, resolve.ErrUnreachable},
		{"403", 403, webDocument, resolve.ErrUnreachable},
		{"204", 204, func(did.ID) string { return "" }, resolve.ErrUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var host webHost
			host = newWebHost(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body(host.id))
			})
			_, err := host.Resolve(t.Context(), host.id)
			if !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			wantSecret(t, err, "localhost", "127.0.0.1", "did.json")
		})
	}
}

func TestWebHostsThatDoNotAnswer(t *testing.T) {
	refuses := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://127.0.0.1/", http.StatusFound)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := uint16(closed.Addr().(*net.TCPAddr).Port)
	closed.Close()
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		change func(*egress.Rules)
		id     did.ID // "" is the host's own
		want   error
	}{
		{"hangs up", refuses, func(*egress.Rules) {}, "", resolve.ErrUnreachable},
		{"has no good certificate", refuses, func(r *egress.Rules) { r.TLS.RootCAs = x509.NewCertPool() }, "", resolve.ErrUnreachable},
		{"is down", refuses, func(r *egress.Rules) { r.Ports = []uint16{nobody} }, did.ID(fmt.Sprintf("did:web:localhost%%3A%d", nobody)), resolve.ErrUnreachable},
		{"sends us elsewhere", elsewhere, func(*egress.Rules) {}, "", resolve.ErrNotFound},
		{"is private", refuses, func(r *egress.Rules) { r.Private = false }, "", resolve.ErrNotFound},
		{"is on another port", refuses, func(r *egress.Rules) { r.Ports = []uint16{443} }, "", resolve.ErrNotFound},
		{"is an address", refuses, func(*egress.Rules) {}, "did:web:127.0.0.1", resolve.ErrNotFound},
		{"is no did:web", refuses, func(*egress.Rules) {}, "did:key:z1", resolve.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := newWebHost(t, tt.answer, tt.change)
			if tt.id == "" {
				tt.id = host.id
			}
			_, err := host.Resolve(t.Context(), tt.id)
			if !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
			if tt.want == resolve.ErrUnreachable && !strings.Contains(err.Error(), "did:web") {
				t.Errorf("error does not say who: %v", err)
			}
			wantSecret(t, err, "localhost", "127.0.0.1")
		})
	}
}

func TestWebHostThatHangsEndsWithTheCaller(t *testing.T) {
	asked := make(chan struct{})
	host := newWebHost(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-asked; cancel() }()
	if _, err := host.Resolve(ctx, host.id); !errors.Is(err, resolve.ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want ErrUnreachable for the caller left", err)
	}
}

func TestOneWebHostIsAskedTwoQuestionsAtATime(t *testing.T) {
	const questions, bound = 12, 2
	var now, most atomic.Int32
	arrived, release := make(chan struct{}, questions), make(chan struct{})
	host := newWebHost(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		w.WriteHeader(http.StatusNotFound)
	})
	var flood sync.WaitGroup
	for i := range questions {
		flood.Go(func() {
			if _, err := host.Resolve(t.Context(), host.id+did.ID(fmt.Sprintf(":%d", i))); !errors.Is(err, resolve.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	for range bound {
		<-arrived
	}
	close(release)
	flood.Wait()
	if m := most.Load(); m > bound {
		t.Errorf("%d questions at once, want at most %d", m, bound)
	}
}
