package e2e

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// onionRelay is a relay that Tor could bring callers to, by a socket. It keeps
// budgets.
type onionRelay struct {
	*relay
	socket string
}

func startOnion(t testing.TB, env ...string) onionRelay {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "onion.sock")
	return onionRelay{startRelay(t, append([]string{"HOLDMAIL_RATE_LIMIT=on", "HOLDMAIL_ONION_LISTEN=" + socket}, env...)...), socket}
}

// by makes the calls of a circuit, as Tor brings them.
func (r onionRelay) by(t testing.TB, circuit uint32) *relay {
	return r.saying(t, fmt.Sprintf("PROXY TCP6 fc00:dead:beef:4dad::%x:%x ::1 65535 42\r\n", circuit>>16, circuit&0xffff))
}

// saying makes calls over connections that begin with header.
func (r onionRelay) saying(t testing.TB, header string) *relay {
	way := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", r.socket)
		if err == nil {
			_, err = io.WriteString(conn, header)
		}
		return conn, err
	}}
	t.Cleanup(way.CloseIdleConnections)
	return &relay{URL: r.URL, client: &http.Client{Transport: way}, log: r.log}
}

func (r *relay) wantChallenge(t testing.TB) {
	t.Helper()
	wantType(t, r.mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
}

func TestEachCircuitHasABudget(t *testing.T) {
	t.Parallel()
	r := startOnion(t, "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=3", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	ann, bob := r.by(t, 0xffffffff), r.by(t, 7)
	for range 3 {
		ann.wantChallenge(t)
	}
	wantOverBudget(t, ann.mustFrom(t, "203.0.113.1", http.MethodGet, "/api/v1/challenge", nil)) // whatever its headers say
	wantOverBudget(t, r.by(t, 0xffffffff).mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil))
	bob.wantChallenge(t)
}

func TestAFloodByTheOnionLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	const letter, all, onion = 1000, 20_000, 10_000 // bytes, in a window
	r := startOnion(t, "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES=20000", "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=5000",
		"HOLDMAIL_ONION_DEPOSIT_GLOBAL_BYTES=10000", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=86400")
	to := newWallet(t)
	var kept, refused atomic.Int64
	var g sync.WaitGroup
	for circuit := range 20 {
		caller := r.by(t, uint32(circuit))
		g.Go(func() {
			for n := range 10 {
				switch a, err := caller.call(http.MethodPost, "/api/v1/messages", "", envelope(letter, fmt.Sprint(circuit, "-", n), to)); {
				case err != nil:
					t.Error(err)
				case a.Status == http.StatusOK:
					kept.Add(letter)
				case a.Status == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
		})
	}
	// Meanwhile, and afterwards, clearnet has all of its own budget.
	deposit := func(n int) answer {
		return r.mustFrom(t, "", http.MethodPost, "/api/v1/messages", envelope(letter, fmt.Sprint("clearnet-", n), to))
	}
	for n := range all / letter / 2 {
		wantType(t, deposit(n), http.StatusOK)
	}
	g.Wait()
	for n := range all / letter / 2 {
		wantType(t, deposit(100+n), http.StatusOK)
	}
	wantOverBudget(t, deposit(200))
	if kept.Load() != onion || refused.Load() != 20*10-onion/letter {
		t.Errorf("%d bytes were kept of the flood, and %d deposits refused; want %d bytes", kept.Load(), refused.Load(), onion)
	}
}

func TestNewCircuitsHaveACeiling(t *testing.T) {
	t.Parallel()
	r := startOnion(t, "HOLDMAIL_ONION_CIRCUITS_PER_WINDOW=3", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	for circuit := range uint32(3) {
		r.by(t, circuit).wantChallenge(t)
	}
	wantOverBudget(t, r.by(t, 3).mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil))
	r.by(t, 1).wantChallenge(t) // has called before
	r.wantChallenge(t)
	wantType(t, r.by(t, 4).mustFrom(t, "", http.MethodGet, "/health", nil), http.StatusOK)
}

func TestTheOnionHoldsHalfOfTheChallenges(t *testing.T) {
	t.Parallel()
	r := startOnion(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=20")
	for circuit := range uint32(5) { // a tenth each
		r.by(t, circuit).wantChallenge(t)
		r.by(t, circuit).wantChallenge(t)
		wantType(t, r.by(t, circuit).mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil), http.StatusTooManyRequests)
	}
	wantType(t, r.by(t, 9).mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil), http.StatusTooManyRequests)
	for range 10 {
		r.wantChallenge(t)
	}
}

func TestOnlyACircuitComesIn(t *testing.T) {
	t.Parallel()
	r := startOnion(t)
	for _, header := range []string{
		"",
		"PROXY TCP4 203.0.113.1 203.0.113.9 4000 80\r\n",
		"PROXY TCP6 fc00:dead:beef:4dae::1 ::1 65535 42\r\n",
		"PROXY TCP6 fc00:dead:beef:4dad:0:1:0:1 ::1 65535 42\r\n", // within the /64, not the /96
		"PROXY UNKNOWN\r\n",
		"PROXY TCP6 fc00:dead:beef:4dad::1 ::1 65535 42", // the request comes on the same line
		"PROXY TCP6 fc00:dead:beef:4dad::1 ::1 65535 42" + strings.Repeat(" ", 5000) + "\r\n",
		"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00",                               // version 2, of nobody
		"\r\n\r\n\x00\r\nQUIT\n\x21\x21\xff\xff" + strings.Repeat("x", 70_000), // version 2, and long
		"\x16\x03\x01\x00\x05hello",                                            // TLS
	} {
		if a, err := r.saying(t, header).call(http.MethodGet, "/api/v1/challenge", "", nil); err == nil {
			t.Errorf("after %q: %d %s, want a connection that ends", header, a.Status, a.Body)
		}
	}
	r.by(t, 1).wantChallenge(t)
}

func TestAHeaderThatDoesNotComeIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	r := startOnion(t)
	for _, part := range []string{"", "P", "PROXY TCP6 fc00:dead:beef:4dad::1 "} {
		conn, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, part); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("after %q: %d bytes, then %v; want the end", part, n, err)
		}
	}
}

func TestATorThatTellsNoCircuits(t *testing.T) {
	t.Parallel()
	r := startOnion(t, "HOLDMAIL_ONION_CIRCUITS=off", "HOLDMAIL_ONION_READ_GLOBAL=3", "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=1",
		"ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	for range 3 {
		r.saying(t, "").wantChallenge(t)
	}
	wantOverBudget(t, r.saying(t, "").mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil))
	r.wantChallenge(t)
}

func TestTheOnionSocketAndASecondStart(t *testing.T) {
	t.Parallel()
	gid := os.Getgid()
	r := startOnion(t, "HOLDMAIL_ONION_GROUP="+fmt.Sprint(gid))
	at, err := os.Lstat(r.socket)
	if err != nil || at.Mode() != fs.ModeSocket|0o660 || int(at.Sys().(*syscall.Stat_t).Gid) != gid {
		t.Fatalf("the socket is %v, %v; want mode 0660 and group %d", at, err, gid)
	}
	r.kill(t) // and leave it behind
	r.start(t)
	r.by(t, 1).wantChallenge(t)
	if text := r.log.String(); !strings.Contains(text, r.socket) {
		t.Errorf("the log does not tell the socket\n%s", text)
	}
}

func TestTheServicesFolderHasTheSocket(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	r := onionRelay{startRelay(t, "RUNTIME_DIRECTORY="+folder), filepath.Join(folder, "onion.sock")}
	r.by(t, 1).wantChallenge(t)
}

func TestAGroupThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRelay(t, "HOLDMAIL_ONION_LISTEN="+filepath.Join(t.TempDir(), "onion.sock"), "HOLDMAIL_ONION_GROUP=holdmail-nobody-there")
	r.spawn(t)
	<-r.exited
	if text := r.log.String(); !strings.Contains(text, `this machine has no group "holdmail-nobody-there"`) {
		t.Errorf("%s", text)
	}
}

func TestTheEndpointIsTheURLOrElseTheOnion(t *testing.T) {
	t.Parallel()
	const onion = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"
	for _, tt := range []struct{ name, url, want string }{
		{"onion alone", "", `{"endpoint":"http://` + onion + `/didcomm"}`},
		{"both", "https://relay.example", `{"endpoint":"https://relay.example/didcomm"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := startRelay(t, "HOLDMAIL_ONION_NAME="+onion, "HOLDMAIL_PUBLIC_URL="+tt.url)
			a := r.mustFrom(t, "", http.MethodGet, "/api/v1/didcomm-endpoint", nil)
			if got := strings.TrimSpace(string(a.Body)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if want := strings.TrimSuffix(strings.TrimPrefix(tt.want, `{"endpoint":"`), `"}`); !strings.Contains(r.log.String(), "endpoint="+want) {
				t.Errorf("the log does not tell %s\n%s", want, r.log)
			}
		})
	}
}
