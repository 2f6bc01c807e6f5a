package e2e

import (
	"errors"
	"net/http"
	"testing"
)

// TestChallengeAcrossRestarts: a challenge is good once, whatever happens to the
// relay in between; a crash may cost a live one, an orderly stop may not.
func TestChallengeAcrossRestarts(t *testing.T) {
	t.Parallel()
	w := newWallet(t)
	r := startRelay(t)

	live, spent := challenge(t, r), challenge(t, r)
	mustAccept(t, r, w, spent)
	r.stop(t)
	r.start(t)
	mustRefuse(t, r, w, spent)
	mustAccept(t, r, w, live)
	r.kill(t)
	r.start(t)
	mustRefuse(t, r, w, live) // stopped, started, spent, killed, started

	live = challenge(t, r)
	for range 2 {
		r.stop(t)
		r.start(t)
	}
	mustAccept(t, r, w, live) // kept over two orderly restarts

	live = challenge(t, r)
	r.stop(t)
	r.start(t)
	r.kill(t)
	r.start(t)
	mustRefuse(t, r, w, live) // kept over a stop, not over the crash after it
}

// TestOneSourceHoldsATenthOfTheChallenges: whoever lets challenges lie uses up its
// own share, and a network of many sources four of them.
func TestOneSourceHoldsATenthOfTheChallenges(t *testing.T) {
	t.Parallel()
	r := budgeted(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=20")
	ask := func(address string, want int) {
		t.Helper()
		if a := r.mustFrom(t, address, http.MethodGet, "/api/v1/challenge", nil); a.Status != want {
			t.Errorf("a challenge for %s: %d %s, want %d", address, a.Status, a.Body, want)
		}
	}
	for _, address := range []string{"203.0.113.1", "2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1"} {
		ask(address, http.StatusOK)
		ask(address, http.StatusOK)
		ask(address, http.StatusTooManyRequests)
	}
	ask("2001:db8:0:4::1", http.StatusTooManyRequests) // the same /48
	ask("2001:db8:1::1", http.StatusOK)
	for range 20 - 11 {
		challenge(t, r) // nobody in particular may have the rest
	}
	ask("203.0.113.2", http.StatusTooManyRequests)
}

func challenge(t testing.TB, r *relay) string {
	t.Helper()
	c, err := r.challenge()
	if err != nil {
		t.Fatalf("asking for a challenge: %v\n%s", err, r.log)
	}
	return c
}

// mustAccept spends a challenge that has to be good.
func mustAccept(t testing.TB, r *relay, w wallet, challenge string) {
	t.Helper()
	if _, err := r.fetchWith(w, challenge); err != nil {
		t.Errorf("a live challenge was refused: %v", err)
	}
}

// mustRefuse brings a challenge that has to be dead.
func mustRefuse(t testing.TB, r *relay, w wallet, challenge string) {
	t.Helper()
	var no *refusal
	if _, err := r.fetchWith(w, challenge); !errors.As(err, &no) || no.Status != http.StatusUnauthorized {
		t.Errorf("a dead challenge was answered with %v, want 401", err)
	}
}
