package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const domain = "mail.example.org"

// newACMERelay describes a relay that gets its certificate from s.
func newACMERelay(t testing.TB, env ...string) *relay {
	t.Helper()
	return newRelay(t, append([]string{"HOLDMAIL_ACME_DOMAIN=" + domain, "HOLDMAIL_ACME_ACCEPT_TERMS=yes", "HOLDMAIL_ACME_EMAIL=ann@example.org"}, env...)...)
}

// use makes r ask s for its certificate, and trust it.
func (r *relay) use(t testing.TB, s *acmeServer) {
	t.Helper()
	r.Env = append(r.Env, "HOLDMAIL_ACME_DIRECTORY="+s.Directory, "HOLDMAIL_ACME_CA="+s.CA)
	r.overTLS(s.pool(t), domain)
}

// The relay has a certificate by either kind of challenge, and keeps it over a
// restart while the ACME server is down.
func TestACMECertificateIsKept(t *testing.T) {
	for _, kind := range []string{"tls-alpn-01", "http-01"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			http := freePort(t)
			r := newACMERelay(t)
			o := acmeOptions{tlsPort: portOf(t, r), httpPort: http, life: time.Hour}
			if kind == "http-01" {
				r.Env = append(r.Env, "HOLDMAIL_ACME_HTTP_PORT="+http)
				o.tlsPort = freePort(t) // nobody there
			}
			s := startACME(t, o)
			r.use(t, s)
			r.start(t)
			first, err := r.serial()
			if err != nil {
				t.Fatal(err)
			}
			w := newWallet(t)
			if _, err := r.deposit(envelope(1000, kind, w)); err != nil {
				t.Errorf("deposit by https: %v", err)
			}
			s.stop()
			r.stop(t)
			r.start(t)
			if got, err := r.serial(); got != first {
				t.Errorf("after a restart: certificate %s (%v), want the kept %s\n%s", got, err, first, r.log)
			}
			if mail, err := r.fetch(w); err != nil || len(mail) != 1 {
				t.Errorf("fetch by https: %d messages, %v; want one", len(mail), err)
			}
			stat, err := os.Stat(filepath.Join(r.Dir, "acme"))
			if err != nil || stat.Mode().Perm() != 0o700 {
				t.Errorf("the folder of certificates is %v (%v), want 0700", stat.Mode(), err)
			}
			r.stop(t)
		})
	}
}

// A certificate is renewed while the relay runs, and no handshake fails amid it.
func TestACMECertificateIsRenewed(t *testing.T) {
	t.Parallel()
	r := newACMERelay(t)
	s := startACME(t, acmeOptions{tlsPort: portOf(t, r), httpPort: freePort(t), life: 30 * time.Second})
	r.use(t, s)
	r.start(t)
	first, err := r.serial()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func() (bool, string) {
		got, err := r.serial()
		if err != nil {
			t.Fatalf("a handshake failed: %v\n%s", err, r.log)
		}
		return got != first, "it was not renewed\n" + r.log.String()
	})
	r.stop(t)
}
