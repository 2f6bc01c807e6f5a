package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
)

// crowd is a relay on a disk of its own, its wallets, and what they know of it.
type crowd struct {
	relay   *relay
	wallets []wallet
	ledger  *ledger
	posted  int // by the test's own goroutine
}

// newCrowd starts a relay that keeps its file under mount.
func newCrowd(t testing.TB, mount string, env ...string) *crowd {
	t.Helper()
	c := &crowd{relay: newRelay(t, env...), ledger: newLedger()}
	c.relay.Dir = filepath.Join(mount, "data")
	for range 5 {
		c.wallets = append(c.wallets, newWallet(t))
	}
	c.relay.start(t)
	return c
}

// post deposits the n-th letter of a sender, each in its turn for another wallet.
func (c *crowd) post(sender, n, size int) error {
	w := c.wallets[n%len(c.wallets)]
	body := envelope(size, fmt.Sprintf("letter %d of sender %d", n, sender), w)
	c.ledger.posting(body, sender, n, w)
	ids, err := c.relay.deposit(body)
	if err != nil {
		c.ledger.refused(body, w)
		return fmt.Errorf("depositing %d bytes: %w", size, err)
	}
	return c.ledger.posted(body, ids, w)
}

func (c *crowd) mustDeposit(t testing.TB, size int) {
	t.Helper()
	c.posted++
	if err := c.post(0, c.posted, size); err != nil {
		t.Fatalf("%v\n%s", err, c.relay.log)
	}
}

// depositUntilRefused takes the room that is left inside the file, and checks
// that the refusal says it is the disk.
func (c *crowd) depositUntilRefused(t testing.TB, size int) {
	t.Helper()
	for range 5_000 {
		c.posted++
		if err := c.post(0, c.posted, size); err != nil {
			mustBeNoRoom(t, err)
			return
		}
	}
	t.Fatalf("5,000 deposits of %d bytes went onto a full disk", size)
}

// pester deposits from another side, whether there is room or not, until enough
// is called.
func (c *crowd) pester(t testing.TB) (enough func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := c.post(1, n, 800); err != nil && !mustBeNoRoom(t, err) {
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// mustBeNoRoom checks that a refused deposit says it is the disk.
func mustBeNoRoom(t testing.TB, err error) bool {
	t.Helper()
	var no *refusal
	ok := errors.As(err, &no) && no.Status == http.StatusServiceUnavailable && no.RetryAfter != ""
	if !ok {
		t.Errorf("on a full disk: %v, want 503 with Retry-After", err)
	}
	return ok
}

// mustSayWhy checks that /health admits that a deposit could not be kept.
func (c *crowd) mustSayWhy(t testing.TB) {
	t.Helper()
	a, err := c.relay.call(http.MethodGet, "/health", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Ready  bool
		Reason string
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || a.Status != http.StatusServiceUnavailable || said.Ready || said.Reason == "" {
		t.Errorf("/health on a full disk: %d %s, want 503 with a reason", a.Status, a.Body)
	}
}

// acknowledge removes n of the small messages that wait, oldest first, each by a
// request of its own.
func (c *crowd) acknowledge(t testing.TB, n int) {
	t.Helper()
	share := n / len(c.wallets)
	for _, w := range c.wallets {
		ms, err := c.relay.fetch(w)
		if err != nil {
			t.Fatalf("fetching from a full disk: %v\n%s", err, c.relay.log)
		}
		c.ledger.seen(t, w, ms)
		for _, m := range ms[:share] {
			c.ledger.removing(w, []message{m}, false)
			if removed, err := c.relay.remove(w, m.ID); err != nil || removed != 1 {
				t.Fatalf("acknowledging on a full disk: removed %d, %v\n%s", removed, err, c.relay.log)
			}
			c.ledger.removing(w, []message{m}, true)
		}
	}
}

// acknowledgeAtOnce removes all that w holds by one request.
func (c *crowd) acknowledgeAtOnce(t testing.TB, w wallet, held map[string][]message) {
	t.Helper()
	var ids []string
	for _, m := range held[w.DID] {
		ids = append(ids, m.ID)
	}
	c.ledger.removing(w, held[w.DID], false)
	if removed, err := c.relay.remove(w, ids...); err != nil || removed != len(ids) {
		t.Fatalf("acknowledging on a full disk: removed %d of %d, %v\n%s", removed, len(ids), err, c.relay.log)
	}
	c.ledger.removing(w, held[w.DID], true)
}

func (c *crowd) audit(t testing.TB) map[string][]message {
	t.Helper()
	held := c.ledger.audit(t, c.relay, c.wallets...)
	if t.Failed() {
		t.FailNow()
	}
	return held
}
