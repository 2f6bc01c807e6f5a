package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDIDsThatNeedNoResolver lets the holders of resolvers.mjs use a relay that is
// alone in the world.
func TestDIDsThatNeedNoResolver(t *testing.T) {
	installClients(t)
	r := startRelay(t, "HOLDMAIL_RESOLVERS=key,jwk,peer")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, program(t, "node"), "resolvers.mjs")
	node.Env = append(os.Environ(), "RELAY="+r.URL)
	out, err := node.CombinedOutput()
	if err != nil {
		t.Fatalf("resolvers.mjs: %v\n%s\n%s", err, out, r.log)
	}
	t.Logf("%s", out)
}

// webHost serves one document over HTTPS as localhost, to whoever trusts its
// authority.
type webHost struct {
	DID   string // without a path
	Port  string
	Trust string // SSL_CERT_FILE
	asked atomic.Int32
}

// startWebHost starts one that gives every caller what answer says.
func startWebHost(t testing.TB, answer func(w http.ResponseWriter, r *http.Request)) *webHost {
	t.Helper()
	ca := newAuthority(t)
	cert := ca.issue(t, "localhost")
	leaf, err := tls.LoadX509KeyPair(cert.Chain, cert.Key)
	if err != nil {
		t.Fatal(err)
	}
	host := &webHost{Trust: ca.File}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host.asked.Add(1)
		answer(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, host.Port, _ = net.SplitHostPort(server.Listener.Addr().String())
	host.DID = "did:web:localhost%3A" + host.Port
	return host
}

// webDocument names w's key in authentication, after one that encrypts.
func (w wallet) webDocument() string {
	point := w.key.PubKey().SerializeUncompressed()
	return fmt.Sprintf(`{"id":%q,"verificationMethod":[{"id":"#e","publicKeyMultibase":"z6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR"},
		{"id":"#s","publicKeyJwk":{"kty":"EC","crv":"secp256k1","x":%q,"y":%q}}],"authentication":["#s"]}`,
		w.DID, base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:]))
}

func TestWebDIDsWhereTheyAreAllowed(t *testing.T) {
	w := newWallet(t)
	host := startWebHost(t, func(out http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/user/%C3%A4nn/did.json" {
			http.NotFound(out, r)
			return
		}
		io.WriteString(out, w.webDocument())
	})
	w.DID = host.DID + ":user:%C3%A4nn"
	r := startRelay(t, "HOLDMAIL_RESOLVERS=web", "HOLDMAIL_WEB_PORTS=443,"+host.Port, "HOLDMAIL_WEB_PRIVATE=on", "SSL_CERT_FILE="+host.Trust)
	wantMail(t, r, w)
	for range 10 {
		if _, err := r.fetch(w); err != nil {
			t.Fatal(err)
		}
	}
	if n := host.asked.Load(); n != 1 {
		t.Errorf("the host was asked %d times within a minute, want 1", n)
	}
	w.DID = host.DID
	wantRefusal(t, r.present(t, "fetch", prove(t, r, w)), http.StatusUnauthorized)
	newcomer := newWallet(t)
	newcomer.DID = "did:cid:z1"
	wantRefusal(t, r.present(t, "fetch", prove(t, r, newcomer)), http.StatusUnauthorized) // nobody is for it
}

// A stranger can name any host; the relay must not go there by default.
func TestWebDIDsLeadNowhereByDefault(t *testing.T) {
	w := newWallet(t)
	host := startWebHost(t, func(out http.ResponseWriter, _ *http.Request) { io.WriteString(out, w.webDocument()) })
	w.DID = host.DID
	for name, tt := range map[string]struct {
		env    []string
		status int
	}{
		"did:web is off":             {nil, http.StatusServiceUnavailable}, // the Gatekeeper, who is away, must know
		"private addresses are off":  {[]string{"HOLDMAIL_RESOLVERS=web", "HOLDMAIL_WEB_PORTS=" + host.Port}, http.StatusUnauthorized},
		"all ports but 443 are off":  {[]string{"HOLDMAIL_RESOLVERS=web", "HOLDMAIL_WEB_PRIVATE=on"}, http.StatusUnauthorized},
		"a certificate is not valid": {[]string{"HOLDMAIL_RESOLVERS=web", "HOLDMAIL_WEB_PORTS=" + host.Port, "HOLDMAIL_WEB_PRIVATE=on", "SSL_CERT_FILE=/dev/null"}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRelay(t, append([]string{"SSL_CERT_FILE=" + host.Trust}, tt.env...)...)
			a := r.present(t, "fetch", prove(t, r, w))
			wantRefusal(t, a, tt.status)
			if tt.status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			if strings.Contains(r.log.String(), "localhost") {
				t.Errorf("the log tells the DID:\n%s", r.log)
			}
		})
	}
	if n := host.asked.Load(); n != 0 {
		t.Errorf("the host was asked %d times", n)
	}
}

func TestLogSaysWhichResolverIsAway(t *testing.T) {
	host := startWebHost(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	r := startRelay(t, "HOLDMAIL_RESOLVERS=web,gatekeeper", "HOLDMAIL_WEB_PORTS="+host.Port, "HOLDMAIL_WEB_PRIVATE=on", "SSL_CERT_FILE="+host.Trust)
	for id, who := range map[string]string{host.DID + ":z8secret": "did:web", "did:cid:z8secret": "the Gatekeeper"} {
		w := newWallet(t)
		w.DID = id
		wantRefusal(t, r.present(t, "fetch", prove(t, r, w)), http.StatusServiceUnavailable)
		eventually(t, 10*time.Second, func() (bool, string) { // the line comes after the answer
			return strings.Contains(r.log.String(), "resolver unreachable: "+who), fmt.Sprintf("the log should say %q:\n%s", who, r.log)
		})
		if strings.Contains(r.log.String(), "z8secret") {
			t.Errorf("the log tells the DID:\n%s", r.log)
		}
	}
}
