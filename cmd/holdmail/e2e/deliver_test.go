package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// delivery is a good call for r to bring packed to endpoint, on behalf of w.
func delivery(t testing.TB, r *relay, w wallet, endpoint, packed any) proof {
	t.Helper()
	p := prove(t, r, w)
	p["endpoint"], p["message"] = endpoint, packed
	return p
}

// deliver makes that call.
func (r *relay) deliver(t testing.TB, w wallet, endpoint string, packed []byte) answer {
	t.Helper()
	return r.presentLetter(t, delivery(t, r, w, endpoint, string(packed)))
}

// presentLetter makes a call to deliver.
func (r *relay) presentLetter(t testing.TB, p proof) answer {
	t.Helper()
	a, err := r.call(http.MethodPost, "/didcomm/api/v1/deliver", "application/json", p.json(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.log)
	}
	return a
}

// deliverMeanwhile begins that call, whose answer is empty if it fails.
func (r *relay) deliverMeanwhile(t testing.TB, w wallet, endpoint string, packed []byte) (answered chan answer) {
	t.Helper()
	body := delivery(t, r, w, endpoint, string(packed)).json(t)
	answered = make(chan answer, 1)
	go func() {
		a, _ := r.call(http.MethodPost, "/didcomm/api/v1/deliver", "application/json", body)
		answered <- a
	}()
	return answered
}

func (p proof) json(t testing.TB) []byte {
	t.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// startFarRelay is a relay with HTTPS, whose authority's file is returned.
func startFarRelay(t testing.TB, env ...string) (far *relay, authority string) {
	t.Helper()
	ca := newAuthority(t)
	p := ca.issue(t)
	far = newRelay(t, append([]string{"HOLDMAIL_TLS_CERT=" + p.Chain, "HOLDMAIL_TLS_KEY=" + p.Key}, env...)...)
	far.overTLS(ca.pool(), "127.0.0.1")
	far.start(t)
	return far, ca.File
}

func TestMailIsDeliveredFromRelayToRelay(t *testing.T) {
	t.Parallel()
	far, authority := startFarRelay(t, "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=5500000")
	near := startRelay(t, "SSL_CERT_FILE="+authority)
	ann, bob := newWallet(t), newWallet(t)
	small, large := envelope(700, "small", bob), envelope(5_200_000, "large", bob)
	for _, packed := range [][]byte{small, large} {
		a := near.deliver(t, ann, far.URL+"/didcomm/", packed)
		var got struct{ IDs []string }
		wantType(t, a, http.StatusOK)
		if err := json.Unmarshal(a.Body, &got); err != nil || len(got.IDs) != 1 {
			t.Errorf("answer %s (%v)\n%s", a.Body, err, near.log)
		}
	}
	wantMail(t, far, bob, string(small), string(large))

	a := near.deliver(t, ann, far.URL, large) // no room for a second one
	if said := wantRefusal(t, a, http.StatusBadGateway); said != "the endpoint answered 429" || a.Header.Get("Retry-After") != "60" {
		t.Errorf("far mailbox full: %q, Retry-After %q", said, a.Header.Get("Retry-After"))
	}
	distrusting := startRelay(t, "SSL_CERT_FILE=/dev/null")
	if said := wantRefusal(t, distrusting.deliver(t, ann, far.URL, small), http.StatusBadGateway); !strings.Contains(said, "certificate") {
		t.Errorf("without the authority: %q", said)
	}
}

// A relay that refuses before it has the whole envelope is heard.
func TestARefusalAmidADeliveryIsHeard(t *testing.T) {
	t.Parallel()
	far, authority := startFarRelay(t, "ARCHON_DIDCOMM_UPLOAD_LIMIT=1000")
	near := startRelay(t, "SSL_CERT_FILE="+authority)
	ann := newWallet(t)
	for range 5 {
		a := near.deliver(t, ann, far.URL, envelope(5_000_000, "x", ann))
		if said := wantRefusal(t, a, http.StatusBadGateway); said != "the endpoint answered 413" {
			t.Fatalf("%q\n%s", said, near.log)
		}
	}
}

func TestMailForThisRelayItselfIsFiledWithoutATrip(t *testing.T) {
	t.Parallel()
	near := startRelay(t, "HOLDMAIL_PUBLIC_URL=https://relay.invalid", "HOLDMAIL_ONION_NAME="+onionName,
		"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=2500", "ARCHON_DIDCOMM_UPLOAD_LIMIT=2500")
	ann, bob := newWallet(t), newWallet(t)
	var mail []string
	for i, endpoint := range []string{"https://relay.invalid/didcomm", "https://RELAY.invalid.:443/", "http://" + onionName + "/didcomm"} {
		mail = append(mail, string(envelope(800, fmt.Sprint(i), bob)))
		wantType(t, near.deliver(t, ann, endpoint, []byte(mail[i])), http.StatusOK)
	}
	wantMail(t, near, bob, mail...)
	a := near.deliver(t, ann, "https://relay.invalid/didcomm", []byte(mail[0]))
	if said := wantRefusal(t, a, http.StatusTooManyRequests); said != "mailbox full" {
		t.Errorf("over the cap: %q", said)
	}

	// A Host header makes nothing this relay's own.
	body := delivery(t, near, ann, "https://127.0.0.1:1", mail[0]).json(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, near.URL+"/api/v1/deliver", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "127.0.0.1:1"
	if said := wantRefusal(t, near.roundTrip(t, req), http.StatusBadGateway); said != "the endpoint's host refused the connection" {
		t.Errorf("with the endpoint as Host: %q", said)
	}
}

func TestDeliveriesThatAreRefused(t *testing.T) {
	t.Parallel()
	near := startRelay(t)
	ann, bob := newWallet(t), newWallet(t)
	packed := string(envelope(700, "x", bob))
	for _, tt := range []struct {
		endpoint, packed any
		status           int
		says             string
	}{
		{"https://127.0.0.1:1", packed, 502, "the endpoint's host refused the connection"},
		{"http://" + onionName, packed, 502, "this relay has no proxy for onion services"},
		{"http://127.0.0.1:1", packed, 400, "endpoint is no address to deliver to: want https, since it is no onion service"},
		{"https://ann@127.0.0.1:1", packed, 400, "endpoint is no address to deliver to: it may have no user, query or fragment"},
		{"ftp://127.0.0.1:1", packed, 400, "endpoint is no address to deliver to: want https, or an onion service"},
		{"https://127.0.0.1:1", `{"hello":"world"}`, 400, "not a DIDComm encrypted envelope: there is no ciphertext"},
		{"https://127.0.0.1:1", map[string]any{}, 400, "endpoint and message must be strings"},
		{7, packed, 400, "endpoint and message must be strings"},
		{nil, packed, 400, "endpoint and message must be strings"},
	} {
		p := delivery(t, near, ann, tt.endpoint, tt.packed)
		if said := wantRefusal(t, near.presentLetter(t, p), tt.status); said != tt.says {
			t.Errorf("%v: %q, want %q", tt.endpoint, said, tt.says)
		}
		wantRefusal(t, near.present(t, "fetch", p), http.StatusUnauthorized) // the challenge is spent
	}
	p := delivery(t, near, ann, "https://127.0.0.1:1", packed)
	p["did"] = bob.DID
	wantRefusal(t, near.presentLetter(t, p), http.StatusUnauthorized)
	delete(p, "did")
	wantRefusal(t, near.presentLetter(t, p), http.StatusBadRequest)
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := startWebHost(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"ids":["x"]}`) })
	host := startWebHost(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d/", &status)
		w.Header().Set("Location", "https://localhost:"+elsewhere.Port+"/")
		w.WriteHeader(status)
	})
	near := startRelay(t, "SSL_CERT_FILE="+host.Trust)
	ann := newWallet(t)
	for status := 300; status <= 308; status++ {
		a := near.deliver(t, ann, fmt.Sprintf("https://localhost:%s/%d", host.Port, status), envelope(700, "x", ann))
		want := fmt.Sprintf("the endpoint redirects (%d), and redirects are not followed", status)
		if said := wantRefusal(t, a, http.StatusBadGateway); said != want {
			t.Errorf("%d: %q", status, said)
		}
	}
	if host.asked.Load() != 9 || elsewhere.asked.Load() != 0 {
		t.Errorf("%d calls there, %d elsewhere", host.asked.Load(), elsewhere.asked.Load())
	}
}

// What a stranger's server says, and when, is for the relay's log to tell as it tells
// all else: in its format, at its level.
func TestWhatAStrangersServerSaysStaysInTheLogsOwnWords(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	issued := ca.issue(t, "localhost")
	cert, err := tls.LoadX509KeyPair(issued.Chain, issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // before it is asked
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}level=ERROR msg=chosen")
				io.Copy(io.Discard, conn)
				conn.Close()
			}()
		}
	}()
	near := startRelay(t, "SSL_CERT_FILE="+ca.File, "HOLDMAIL_LOG_FORMAT=json", "HOLDMAIL_LOG_LEVEL=debug")
	ann := newWallet(t)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	eventually(t, time.Minute, func() (bool, string) {
		near.deliver(t, ann, "https://localhost:"+port, envelope(700, "x", ann))
		return strings.Contains(near.log.String(), "Unsolicited response"), near.log.String()
	})
	for line := range strings.Lines(near.log.String()) {
		if !json.Valid([]byte(strings.TrimPrefix(line, "  | "))) {
			t.Errorf("a line of the log is no record: %s", line)
		}
	}
}

func TestPrivateAddressesGetNoMailWhereTheOwnerSaysSo(t *testing.T) {
	t.Parallel()
	host := startWebHost(t, func(http.ResponseWriter, *http.Request) {})
	near := startRelay(t, "SSL_CERT_FILE="+host.Trust, "HOLDMAIL_DELIVER_PRIVATE=off")
	ann := newWallet(t)
	for _, name := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "[::1]"} {
		a := near.deliver(t, ann, "https://"+name+":"+host.Port, envelope(700, "x", ann))
		if said := wantRefusal(t, a, http.StatusBadGateway); said != "the endpoint's host has no address that this relay delivers to" {
			t.Errorf("%s: %q", name, said)
		}
	}
	if n := host.asked.Load(); n != 0 {
		t.Errorf("the host was asked %d times", n)
	}
}

func TestADeliveryIsChargedAsADeposit(t *testing.T) {
	t.Parallel()
	ann, bob := newWallet(t), newWallet(t)
	for name, tt := range map[string]struct {
		endpoint string
		packed   []byte // of which the budget has room for one
		status   int    // of that
	}{
		"away":                     {"https://127.0.0.1:1", envelope(3000, "x", ann, bob), http.StatusBadGateway},
		"here, once per recipient": {"https://relay.invalid", envelope(1700, "x", ann, bob), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			near := budgeted(t, "HOLDMAIL_PUBLIC_URL=https://relay.invalid", "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES=5000",
				"ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=5000", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=86400")
			wantType(t, near.deliver(t, ann, tt.endpoint, tt.packed), tt.status)
			wantOverBudget(t, near.deliver(t, ann, tt.endpoint, tt.packed))
		})
	}
}

// What waits for a slow relay leaves memory to deposits, by the same callers too.
func TestSlowDeliveriesLeaveMemoryToDeposits(t *testing.T) {
	t.Parallel()
	arrived, finish := make(chan bool, 20), make(chan bool)
	host := startWebHost(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-finish
	})
	near := startRelay(t, "SSL_CERT_FILE="+host.Trust)
	ann := newWallet(t)
	large, small := envelope(5_200_000, "x", ann), envelope(700, "x", ann)
	deliver := func(packed []byte) chan answer {
		return near.deliverMeanwhile(t, ann, "https://localhost:"+host.Port, packed)
	}
	all := []chan answer{deliver(large)}
	<-arrived
	wantRefusal(t, <-deliver(large), http.StatusServiceUnavailable) // one source's share
	for range 4 {
		all = append(all, deliver(small))
		<-arrived
	}
	for range 3 {
		if _, err := near.deposit(large); err != nil {
			t.Errorf("a deposit meanwhile: %v", err)
		}
	}
	close(finish)
	for _, answered := range all {
		wantType(t, <-answered, http.StatusOK)
	}
}

// A relay that takes its time holds a place, which others find taken. It is given up
// when its caller leaves, and when this relay stops.
func TestSlowDeliveriesAreBoundedAndGivenUp(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan bool, 10), make(chan bool, 10)
	host := startWebHost(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-r.Context().Done()
		left <- true
	})
	near := startRelay(t, "SSL_CERT_FILE="+host.Trust, "HOLDMAIL_MAX_DELIVERIES=1")
	ann := newWallet(t)
	packed := envelope(700, "x", ann)
	body := delivery(t, near, ann, "https://localhost:"+host.Port, string(packed)).json(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(near.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /api/v1/deliver HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-arrived
	a := near.deliver(t, ann, "https://localhost:"+host.Port, packed)
	if said := wantRefusal(t, a, http.StatusServiceUnavailable); said != "too many deliveries are under way" || a.Header.Get("Retry-After") == "" {
		t.Errorf("a second one: %q, Retry-After %q", said, a.Header.Get("Retry-After"))
	}
	if _, err := near.deposit(packed); err != nil {
		t.Errorf("a deposit meanwhile: %v", err)
	}
	conn.Close()
	<-left

	last := near.deliverMeanwhile(t, ann, "https://localhost:"+host.Port, packed)
	<-arrived
	near.stop(t)
	if said := wantRefusal(t, <-last, http.StatusServiceUnavailable); said != "this relay is stopping" {
		t.Errorf("under way at the stop: %q", said)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the other relay is still called")
	}
}
