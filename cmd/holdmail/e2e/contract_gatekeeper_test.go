package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestOnlyTheFirstKeyOfADocumentCounts(t *testing.T) {
	g := startGatekeeper(t)
	r := startRelay(t, "ARCHON_GATEKEEPER_URL="+g.URL)
	replace := func(old, new string) func(string) string {
		return func(document string) string { return strings.Replace(document, old, new, 1) }
	}
	const ed25519 = `{"id":"#ed","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}`
	for i, tt := range []struct {
		name   string
		change func(document string) string
		status int
	}{
		{"as published", func(d string) string { return d }, 200},
		{"other keys after it", replace(`}}]`, `}},`+ed25519+`]`), 200},
		{"another key before it", replace(`[{`, `[`+ed25519+`,{`), 401},
		{"no keys", func(string) string { return `{"verificationMethod":[]}` }, 401},
		{"empty document", func(string) string { return `{}` }, 401},
		{"no crv", replace(`"crv":"secp256k1",`, ``), 401},
		{"wrong crv", replace(`"crv":"secp256k1"`, `"crv":"P-256"`), 401},
		{"wrong kty", replace(`"kty":"EC"`, `"kty":"OKP"`), 401},
		{"a point off the curve", replace(`"y":"`, `"y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE","z":"`), 401},
		{"no JWK", replace(`publicKeyJwk`, `publicKeyJwx`), 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWallet(t)
			w.DID = fmt.Sprintf("did:cid:z%d", i)
			g.publish(w.DID, tt.change(w.document()))
			if a := r.present(t, "fetch", prove(t, r, w)); a.Status != tt.status {
				t.Errorf("%d %s, want %d", a.Status, a.Body, tt.status)
			}
		})
	}
}

func TestGatekeepersThatCannotAnswer(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"5xx": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"didDocument":{}}`, http.StatusBadGateway)
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			g := httptest.NewServer(handler)
			defer g.Close()
			wantDepositsOnly(t, startRelay(t, "ARCHON_GATEKEEPER_URL="+g.URL))
		})
	}
	t.Run("is not there", func(t *testing.T) { wantDepositsOnly(t, startRelay(t)) })
}

// wantDepositsOnly fails the test unless a relay whose Gatekeeper is down says
// so to those who need it, and serves all others.
func wantDepositsOnly(t *testing.T, r *relay) {
	t.Helper()
	w := newWallet(t)
	w.DID = "did:cid:z1"
	a := r.present(t, "fetch", prove(t, r, w))
	wantRefusal(t, a, http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	if _, err := r.deposit(envelope(600, "down", w)); err != nil {
		t.Errorf("a deposit: %v", err)
	}
	wantJSON(t, r.send(t, request{Method: http.MethodGet, Path: "/health"}), `{"ready":true}`)
	wantMail(t, r, newWallet(t)) // did:key needs no Gatekeeper
}

func TestAGatekeeperMayComeLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	r := startRelay(t, "ARCHON_GATEKEEPER_URL=http://"+address)
	w := newWallet(t)
	w.DID = "did:cid:z1"
	wantDepositsOnly(t, r)

	g := &gatekeeper{documents: map[string]string{w.DID: w.document()}}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	late := &httptest.Server{Listener: l, Config: &http.Server{Handler: g}}
	late.Start()
	defer late.Close()
	eventually(t, 10*time.Second, func() (bool, string) {
		got, err := r.fetch(w)
		return err == nil && len(got) == 1, fmt.Sprintf("%d messages, %v; want the one deposited before", len(got), err)
	})
}

func TestAGatekeeperMayRedirect(t *testing.T) {
	g := startGatekeeper(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, g.URL+strings.TrimPrefix(r.RequestURI, "/base"), http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	r := startRelay(t, "ARCHON_GATEKEEPER_URL="+front.URL+"/base/")
	w := newWallet(t)
	w.DID = "did:cid:a%3Ab"
	g.publish(w.DID, w.document())
	wantMail(t, r, w)
}
