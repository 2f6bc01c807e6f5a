package appliance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// withCertificate gives c a self-made certificate for 127.0.0.1, and returns how
// to trust it.
func withCertificate(t testing.TB, c *Config) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c.HTTPS.CertFile, c.HTTPS.KeyFile = filepath.Join(dir, "chain"), filepath.Join(dir, "key")
	for file, block := range map[string]*pem.Block{
		c.HTTPS.CertFile: {Type: "CERTIFICATE", Bytes: chain}, c.HTTPS.KeyFile: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(chain)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)
	return trusted
}

func TestTheNewestProtocolsAreSpokenOverTLSAndNoOldOnes(t *testing.T) {
	c := testConfig(t)
	trusted := withCertificate(t, &c)
	url, stop := start(t, c, nil)
	defer stop()
	address := strings.TrimPrefix(url, "http://")
	for _, tt := range []struct {
		name    string
		version uint16
		offers  []string
		want    string // protocol of the answer, "" for a refusal
	}{
		{"TLS 1.3", tls.VersionTLS13, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{"TLS 1.2", tls.VersionTLS12, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{"TLS 1.3, HTTP/1", tls.VersionTLS13, []string{"http/1.1"}, "HTTP/1.1"},
		{"TLS 1.1", tls.VersionTLS11, []string{"http/1.1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS10, MaxVersion: tt.version, NextProtos: tt.offers},
				ForceAttemptHTTP2: tt.offers[0] == "h2",
			}
			defer transport.CloseIdleConnections()
			got := ""
			answer, err := (&http.Client{Transport: transport}).Get("https://" + address + "/health")
			if err == nil {
				answer.Body.Close()
				got = answer.Proto
			}
			if got != tt.want {
				t.Errorf("answered by %q (%v), want %q", got, err, tt.want)
			}
		})
	}
	if got := body(http.Get(url + "/health")); !strings.Contains(got, "HTTPS server") {
		t.Errorf("plain HTTP on a port with TLS gets %q, want a sentence that says so", got)
	}
}

func TestAnHTTP2ConnectionHasAsManyRequestsUnderWayAsAreAllowed(t *testing.T) {
	most := http2Limits().MaxConcurrentStreams
	var running, peak atomic.Int32
	var once sync.Once
	full := make(chan bool)
	c := testConfig(t)
	trusted := withCertificate(t, &c)
	url, stop := start(t, c, func(a *Appliance) {
		a.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			now := running.Add(1)
			if peak.Store(max(peak.Load(), now)); now == int32(most) {
				once.Do(func() { close(full) })
			}
			<-full
			running.Add(-1)
		})
	})
	defer stop()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
	}}
	defer client.CloseIdleConnections()
	var g sync.WaitGroup
	for range 2 * most {
		g.Go(func() {
			if got := body(client.Get(strings.Replace(url, "http:", "https:", 1))); got != "" {
				t.Errorf("got %q", got)
			}
		})
	}
	g.Wait()
	if got := int(peak.Load()); got > most {
		t.Errorf("%d at one time, want %d", got, most)
	}
}

func TestWhatIsNoCertificateStopsTheStart(t *testing.T) {
	c := testConfig(t)
	withCertificate(t, &c)
	good := c.HTTPS
	for _, h := range []HTTPS{
		{CertFile: good.CertFile, KeyFile: filepath.Join(t.TempDir(), "none")},
		{CertFile: good.CertFile, KeyFile: good.CertFile},
		{Domains: []string{"mail.example"}, AcceptTerms: true, CAFile: good.KeyFile},
	} {
		c.HTTPS = h
		if a, err := New(c, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%+v: it starts", h)
			a.Close()
		}
	}
}

// An HTTP/2 reader that opens no window confirms every byte and takes none.
func TestAnHTTP2AnswerThatNobodyTakesEnds(t *testing.T) {
	const stall = 50 * time.Millisecond
	ended := make(chan error, 1)
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for piece := make([]byte, 3*maxStreamWrite); err == nil; {
			_, err = w.Write(piece)
		}
		ended <- err
	})
	server := httptest.NewUnstartedServer(boundStreams(endless, stall))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() // and never read
	if answer.ProtoMajor != 2 {
		t.Fatalf("answered by %s, want HTTP/2", answer.Proto)
	}
	select {
	case err := <-ended:
		t.Logf("ended: %v", err)
	case <-ctx.Done():
		t.Error("it goes on after a minute")
	}
}
