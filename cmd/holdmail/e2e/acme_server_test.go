package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// buildPebble builds Let's Encrypt's ACME server for tests, and a DNS server
// that says 127.0.0.1 to everything, from the module in acme/.
var buildPebble = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(binary)
	cmd := exec.Command("go", "build", "-o", dir+"/", "github.com/letsencrypt/pebble/v2/cmd/pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv")
	cmd.Dir = "acme"
	out, err := cmd.CombinedOutput()
	return string(out), err
})

// acmeServer is a running Pebble.
type acmeServer struct {
	Directory string // its URL
	CA        string // file that vouches for the server
	root      string // URL of what vouches for its certificates
	client    *http.Client
	stop      func() // ends it; once is enough
	log       *output
}

// acmeOptions say how a Pebble treats a relay.
type acmeOptions struct {
	tlsPort, httpPort string        // where it looks for answers
	life              time.Duration // of its certificates, whole seconds
}

func startACME(t testing.TB, o acmeOptions) *acmeServer {
	t.Helper()
	if out, err := buildPebble(); err != nil {
		t.Fatalf("building Pebble: %v\n%s", err, out)
	}
	ca := newAuthority(t)
	own := ca.issue(t)
	api, management, dns := "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": management,
		"certificate": own.Chain, "privateKey": own.Key,
		"tlsPort": json.Number(o.tlsPort), "httpPort": json.Number(o.httpPort),
		"keyAlgorithm": "ecdsa", "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": o.life / time.Second}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &acmeServer{
		Directory: "https://" + api + "/dir",
		CA:        ca.File,
		root:      "https://" + management + "/roots/0",
		client:    &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.pool()}}},
		log:       &output{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	names := s.run(ctx, t, "pebble-challtestsrv", "-dnsserver", dns, "-defaultIPv6", "", "-management", "127.0.0.1:"+freePort(t),
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "")
	server := s.run(ctx, t, "pebble", "-config", file, "-dnsserver", dns, "-strict")
	s.stop = func() { cancel(); <-names; <-server }
	t.Cleanup(s.stop)
	eventually(t, 10*time.Second, func() (bool, string) {
		resp, err := s.client.Get(s.Directory)
		if err != nil {
			return false, err.Error() + "\n" + s.log.String()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
	return s
}

// run runs a program until ctx ends; then ended is closed.
func (s *acmeServer) run(ctx context.Context, t testing.TB, name string, args ...string) (ended chan bool) {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(binary), name), args...)
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan bool)
	go func() { cmd.Wait(); close(ended) }()
	return ended
}

// pool trusts what the server certifies.
func (s *acmeServer) pool(t testing.TB) *x509.CertPool {
	t.Helper()
	resp, err := s.client.Get(s.root)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("no root certificate in %q (%v)", text, err)
	}
	return pool
}

// portOf is the port that a relay listens on.
func portOf(t testing.TB, r *relay) string {
	t.Helper()
	_, port, err := net.SplitHostPort(r.URL[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	return port
}
