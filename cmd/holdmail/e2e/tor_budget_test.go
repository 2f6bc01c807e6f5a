package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// As Tor itself tells circuits apart, so are their budgets.
func TestTorsCircuitsHaveBudgetsApart(t *testing.T) {
	t.Parallel()
	const letter = 1000 // bytes
	far := startTorMailbox(t, "HOLDMAIL_RATE_LIMIT=on", "ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=3",
		"ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=3000", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=86400")
	far.awaitFrom(t, far.tor.Socks)

	ann, bob := far.by(t, far.tor.Socks, "ann"), far.by(t, far.tor.Socks, "bob")
	for range 3 {
		ann.wantChallenge(t)
	}
	wantOverBudget(t, ann.mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil))
	again := far.by(t, far.tor.Socks, "ann") // by another connection
	wantOverBudget(t, again.mustFrom(t, "", http.MethodGet, "/api/v1/challenge", nil))
	for range 3 {
		bob.wantChallenge(t)
	}

	// So it is with relays that deliver, though they share a Tor.
	w := newWallet(t)
	one, other := startRelay(t, "ARCHON_DIDCOMM_TOR_PROXY="+far.tor.Socks), startRelay(t, "ARCHON_DIDCOMM_TOR_PROXY="+far.tor.Socks)
	deliver := func(r *relay, n int) answer {
		t.Helper()
		return r.deliver(t, w, far.tor.url(), envelope(letter, fmt.Sprint(n), w))
	}
	for n := range 3 {
		wantType(t, deliver(one, n), http.StatusOK)
	}
	a := deliver(one, 3)
	if said := wantRefusal(t, a, http.StatusBadGateway); said != "the endpoint answered 429" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%q, Retry-After %q", said, a.Header.Get("Retry-After"))
	}
	for n := range 3 {
		wantType(t, deliver(other, 10+n), http.StatusOK)
	}
}

// Many circuits spend what the onion may take, and nothing of what clearnet may.
func TestAFloodByTorLeavesClearnetAlone(t *testing.T) {
	t.Parallel()
	const (
		circuits, each = 6, 5
		letter         = 1000              // bytes
		onion          = 20 * letter       // may come by Tor
		clearnet       = 2 * each * letter // may come by clearnet
	)
	far := startTorMailbox(t, "HOLDMAIL_RATE_LIMIT=on", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=86400",
		fmt.Sprint("HOLDMAIL_ONION_DEPOSIT_GLOBAL_BYTES=", onion), fmt.Sprint("ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES=", clearnet),
		fmt.Sprint("ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=", each*letter))
	far.awaitFrom(t, far.tor.Socks)
	w := newWallet(t)
	var kept, refused atomic.Int64
	var flood sync.WaitGroup
	for circuit := range circuits {
		caller := far.by(t, far.tor.Socks, fmt.Sprint("caller ", circuit))
		flood.Go(func() {
			for n := range each {
				switch a, err := caller.call(http.MethodPost, "/api/v1/messages", "", envelope(letter, fmt.Sprint(circuit, "-", n), w)); {
				case err != nil:
					t.Error(err)
				case a.Status == http.StatusOK:
					kept.Add(1)
				case a.Status == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
		})
	}
	deposit := func(n int) answer {
		t.Helper()
		return far.mustFrom(t, "", http.MethodPost, "/api/v1/messages", envelope(letter, fmt.Sprint("clearnet-", n), w))
	}
	for n := range each { // meanwhile
		wantType(t, deposit(n), http.StatusOK)
	}
	flood.Wait()
	for n := range each { // and after it
		wantType(t, deposit(each+n), http.StatusOK)
	}
	wantOverBudget(t, deposit(2*each))
	mail, err := far.fetch(w)
	if err != nil || len(mail) != onion/letter+2*each {
		t.Errorf("%d letters are held (%v), want %d", len(mail), err, onion/letter+2*each)
	}
	if kept.Load() != onion/letter || refused.Load() != circuits*each-onion/letter {
		t.Errorf("%d letters of the flood were kept and %d refused; want %d kept of %d", kept.Load(), refused.Load(), onion/letter, circuits*each)
	}
}
