package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A pair of files makes the port speak HTTPS: the whole loop works over it, and
// a new pair is taken up without a restart.
func TestHTTPSFromFiles(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	used, next := ca.issue(t), ca.issue(t)
	r := newRelay(t, "HOLDMAIL_TLS_CERT="+used.Chain, "HOLDMAIL_TLS_KEY="+used.Key)
	r.overTLS(ca.pool(), "127.0.0.1")
	r.start(t)

	selftest := exec.CommandContext(t.Context(), binary, "selftest", r.URL+"/didcomm")
	selftest.Env = []string{"SSL_CERT_FILE=" + ca.File}
	if out, err := selftest.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "PASS\n") {
		t.Errorf("selftest by https: %v\n%s\n%s", err, out, r.log)
	}
	resp, err := r.client.Get(r.URL + "/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("answered by %s, want HTTP/2", resp.Proto)
	}

	want := used.leaf.SerialNumber.String()
	if got, err := r.serial(); got != want {
		t.Fatalf("certificate %s (%v), want %s", got, err, want)
	}
	move(t, next.Chain, used.Chain)
	move(t, next.Key, used.Key)
	want = next.leaf.SerialNumber.String()
	eventually(t, 10*time.Second, func() (bool, string) {
		got, err := r.serial()
		if err != nil {
			t.Fatalf("a handshake failed amid the change: %v\n%s", err, r.log)
		}
		return got == want, "the certificate is still " + got
	})

	if err := os.WriteFile(used.Chain, []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	const complaint = "is of no use"
	before := strings.Count(r.log.String(), complaint) // a look between the two moves may have found one half
	eventually(t, 10*time.Second, func() (bool, string) {
		if got, err := r.serial(); got != want {
			t.Fatalf("with a broken file: certificate %s (%v), want the old %s", got, err, want)
		}
		return strings.Count(r.log.String(), complaint) > before, "no complaint in the log\n" + r.log.String()
	})
}

// Plain HTTP on the port with TLS is told so, and does not hang.
func TestPlainHTTPWhereTLSIsSpoken(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	p := ca.issue(t)
	r := newRelay(t, "HOLDMAIL_TLS_CERT="+p.Chain, "HOLDMAIL_TLS_KEY="+p.Key)
	plain := r.URL
	r.overTLS(ca.pool(), "127.0.0.1")
	r.start(t)
	resp, err := http.Get(plain + "/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP gets %d, want 400", resp.StatusCode)
	}
}

// move puts a file in place at once.
func move(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
