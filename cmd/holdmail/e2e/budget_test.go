package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// budgeted is a relay that keeps budgets and believes this machine's callers
// about whose calls they pass on.
func budgeted(t testing.TB, env ...string) *relay {
	t.Helper()
	return startRelay(t, append([]string{"HOLDMAIL_RATE_LIMIT=on", "HOLDMAIL_TRUSTED_PROXIES=127.0.0.0/8"}, env...)...)
}

// from makes a call for someone at an address, "" for nobody.
func (r *relay) from(address, method, path string, body []byte) (answer, error) {
	req, err := http.NewRequest(method, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if address != "" {
		req.Header.Set("X-Forwarded-For", address)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/didcomm-encrypted+json")
	}
	return r.do(req)
}

func (r *relay) mustFrom(t testing.TB, address, method, path string, body []byte) answer {
	t.Helper()
	a, err := r.from(address, method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, r.log)
	}
	return a
}

// wantOverBudget fails the test unless a says, truly, when to come again, and
// returns that.
func wantOverBudget(t testing.TB, a answer) (wait time.Duration) {
	t.Helper()
	wantType(t, a, http.StatusTooManyRequests)
	var said struct {
		Error   string
		ResetAt int64
	}
	after, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || json.Unmarshal(a.Body, &said) != nil || said.Error != "Rate limit exceeded" {
		t.Fatalf("429 %s, Retry-After %q; want it to say when", a.Body, a.Header.Get("Retry-After"))
	}
	wait = time.Duration(after) * time.Second
	if reset := time.Until(time.Unix(said.ResetAt, 0)); reset < wait-2*time.Second || reset > wait+2*time.Second {
		t.Errorf("resetAt is %v from now, Retry-After %v", reset, wait)
	}
	if a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("a page cannot read the refusal")
	}
	return wait
}

func TestReadsHaveABudget(t *testing.T) {
	t.Parallel()
	const ann, bob, near = "203.0.113.1", "2001:db8:1:2::1", "2001:db8:1:2::ffff"
	r := budgeted(t, "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=4", "ARCHON_DRAWBRIDGE_DIDCOMM_READ_GLOBAL=11",
		"ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	ask := func(address string) answer {
		t.Helper()
		return r.mustFrom(t, address, http.MethodGet, "/api/v1/capabilities", nil)
	}
	for range 4 {
		wantType(t, ask(ann), http.StatusOK)
	}
	wantOverBudget(t, ask(ann))
	for range 4 {
		wantType(t, ask(bob), http.StatusOK)
	}
	wantOverBudget(t, ask(near)) // the same /64
	for range 3 {
		wantType(t, ask(""), http.StatusOK) // the refused cost nothing
	}
	wantOverBudget(t, ask(""))
	wantOverBudget(t, ask("198.51.100.1")) // all is spent
	wantOverBudget(t, r.mustFrom(t, "", http.MethodGet, "/nothing", nil))
	wantType(t, r.mustFrom(t, ann, http.MethodGet, "/health", nil), http.StatusOK)
}

func TestWhoWaitsAsLongAsItIsToldGetsIn(t *testing.T) {
	t.Parallel()
	const ann = "203.0.113.1"
	r := budgeted(t, "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=3", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=5")
	for range 3 {
		wantType(t, r.mustFrom(t, ann, http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
	}
	wait := wantOverBudget(t, r.mustFrom(t, ann, http.MethodGet, "/api/v1/challenge", nil))
	<-time.After(wait)
	wantType(t, r.mustFrom(t, ann, http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
}

func TestDepositsHaveABudgetInBytesForEachRecipient(t *testing.T) {
	t.Parallel()
	const ann, bob = "203.0.113.1", "203.0.113.2"
	r := budgeted(t, "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=10000", "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES=14000",
		"ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	to := []wallet{newWallet(t), newWallet(t), newWallet(t)}
	deposit := func(address string, body []byte) answer {
		t.Helper()
		return r.mustFrom(t, address, http.MethodPost, "/api/v1/messages", body)
	}
	wantType(t, deposit(ann, envelope(3000, "3000", to[0])), http.StatusOK)
	wantOverBudget(t, deposit(ann, envelope(2400, "7200", to...))) // more than the 7000 left
	wantType(t, deposit(ann, envelope(2000, "6000", to...)), http.StatusOK)
	wantType(t, deposit(ann, []byte(strings.Repeat("x", 900))), http.StatusBadRequest) // and is not given back
	wantOverBudget(t, deposit(ann, envelope(700, "700", to[0])))
	wantType(t, deposit(bob, envelope(4000, "4000", to[0])), http.StatusOK)
	wantOverBudget(t, deposit(bob, envelope(600, "more than all have", to[0])))
	for i, want := range []int{3, 1, 1} {
		ms, err := r.fetch(to[i])
		if err != nil || len(ms) != want {
			t.Errorf("mailbox %d: %d messages, %v; want %d", i, len(ms), err, want)
		}
	}
}

func TestARefusalComesBeforeTheBody(t *testing.T) {
	t.Parallel()
	r := budgeted(t, "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=1000", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	w := newWallet(t)
	wantType(t, r.mustFrom(t, "203.0.113.1", http.MethodPost, "/api/v1/messages", envelope(1000, "all", w)), http.StatusOK)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /api/v1/messages HTTP/1.1\r\nHost: relay\r\nX-Forwarded-For: 203.0.113.1\r\nContent-Length: 1000000\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	said, err := io.ReadAll(conn) // to its end, though no byte of the body was sent
	if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 429 ") || !strings.Contains(string(said), "Connection: close\r\n") {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestOnlyATrustedProxyIsBelieved(t *testing.T) {
	t.Parallel()
	r := startRelay(t, "HOLDMAIL_RATE_LIMIT=on", "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=1")
	for range 20 {
		wantType(t, r.mustFrom(t, "203.0.113.1", http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
	}
	const warning = "no proxy is trusted"
	if got := strings.Count(r.log.String(), warning); got != 1 {
		t.Errorf("%q is in the log %d times, want once\n%s", warning, got, r.log)
	}
}

func TestAProxyOnAUnixSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "holdmail.sock")
	r := startRelay(t, "HOLDMAIL_RATE_LIMIT=on", "HOLDMAIL_LISTEN_UNIX="+socket, "HOLDMAIL_LISTEN_UNIX_SOURCE=headers",
		"ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=2")
	plain := r.client
	r.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	for range 2 {
		wantType(t, r.mustFrom(t, "203.0.113.1", http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
	}
	wantOverBudget(t, r.mustFrom(t, "203.0.113.1", http.MethodGet, "/api/v1/challenge", nil))
	wantType(t, r.mustFrom(t, "203.0.113.2", http.MethodGet, "/api/v1/challenge", nil), http.StatusOK)
	r.client = plain
	r.kill(t) // and leave the socket behind
	r.start(t)
	r.stop(t)
	if left, err := filepath.Glob(socket); err != nil || len(left) != 0 {
		t.Errorf("stopped, and %q is left (%v)", left, err)
	}
}

func TestAProxyThatSpeaksTheProxyProtocol(t *testing.T) {
	t.Parallel()
	r := newRelay(t, "HOLDMAIL_RATE_LIMIT=on", "HOLDMAIL_TRUSTED_PROXIES=127.0.0.2", "HOLDMAIL_PROXY_PROTOCOL=on",
		"ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=1")
	r.start(t) // whose questions come from 127.0.0.1, which is no proxy
	ask := func(header string) answer {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		client := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				_, err = io.WriteString(conn, header)
			}
			return conn, err
		}}
		req := httptest.NewRequest(http.MethodGet, r.URL+"/api/v1/challenge", nil)
		resp, err := client.RoundTrip(req)
		if err != nil {
			return answer{}
		}
		return readAnswer(t, resp)
	}
	const ann, bob = "PROXY TCP4 203.0.113.1 203.0.113.9 4000 80\r\n", "PROXY TCP4 203.0.113.2 203.0.113.9 4000 80\r\n"
	wantType(t, ask(ann), http.StatusOK)
	wantOverBudget(t, ask(ann))
	wantType(t, ask(bob), http.StatusOK)
	if a := ask(""); a.Status == http.StatusOK {
		t.Error("the proxy was answered without a header")
	}
	wantType(t, r.mustFrom(t, "", http.MethodGet, "/health", nil), http.StatusOK)
}
