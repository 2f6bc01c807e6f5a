package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// forEachEngine runs a story once per engine, with relays that have env.
func forEachEngine(t *testing.T, env []string, story func(t *testing.T, r *relay)) {
	for _, engine := range []string{"bolt", "memory"} {
		t.Run(engine, func(t *testing.T) {
			story(t, startRelay(t, append(env, "ARCHON_DIDCOMM_DB="+engine)...))
		})
	}
}

// wantDeposit deposits packed and fails the test unless status answers it.
func wantDeposit(t testing.TB, r *relay, packed []byte, status int) {
	t.Helper()
	a := r.post(t, "/api/v1/messages", packedType, string(packed))
	if status == http.StatusOK {
		wantType(t, a, status)
		return
	}
	wantRefusal(t, a, status)
}

func TestAMailboxIsFullToTheByte(t *testing.T) {
	env := []string{"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=4096", "ARCHON_DIDCOMM_UPLOAD_LIMIT=4096"}
	forEachEngine(t, env, func(t *testing.T, r *relay) {
		ann, bob, eve := newWallet(t), newWallet(t), newWallet(t)
		first, last := envelope(1000, "first", ann), envelope(3096, "last", ann)
		wantDeposit(t, r, first, 200)
		wantDeposit(t, r, envelope(3097, "one byte more than fits", ann), 429)
		wantDeposit(t, r, last, 200)
		wantDeposit(t, r, envelope(500, "nothing fits", ann), 429)

		// All recipients or none: ann's full mailbox refuses bob's copy too.
		wantDeposit(t, r, envelope(800, "for both", bob, ann), 429)
		wantMail(t, r, bob)
		wantMail(t, r, ann, string(first), string(last))
		wantDeposit(t, r, envelope(4096, "in one piece", eve), 200)
	})
}

func TestTheStoreIsFullToTheByte(t *testing.T) {
	env := []string{
		"ARCHON_DIDCOMM_MAX_TOTAL_BYTES=8000",
		"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=4000",
		"ARCHON_DIDCOMM_UPLOAD_LIMIT=4000",
	}
	forEachEngine(t, env, func(t *testing.T, r *relay) {
		ann, bob, eve := newWallet(t), newWallet(t), newWallet(t)
		both := envelope(3000, "charged once for each", ann, bob)
		wantDeposit(t, r, both, 200)
		wantDeposit(t, r, envelope(2001, "one byte more than fits", eve), 429)
		wantDeposit(t, r, envelope(1001, "one byte more than fits twice", eve, bob), 429)
		wantDeposit(t, r, envelope(2000, "the last", eve), 200)
		wantDeposit(t, r, envelope(500, "nothing fits", newWallet(t)), 429)
		wantMail(t, r, bob, string(both))
	})
}

func TestMessagesAreCounted(t *testing.T) {
	env := []string{"HOLDMAIL_MAX_RECIPIENT_MESSAGES=2", "HOLDMAIL_MAX_MESSAGES=4"}
	forEachEngine(t, env, func(t *testing.T, r *relay) {
		ann, bob, eve := newWallet(t), newWallet(t), newWallet(t)
		wantDeposit(t, r, envelope(500, "1", ann), 200)
		wantDeposit(t, r, envelope(500, "2", ann), 200)
		wantDeposit(t, r, envelope(500, "one more than the mailbox takes", ann), 429)
		wantDeposit(t, r, envelope(500, "3", bob), 200)
		wantDeposit(t, r, envelope(800, "one more than the store takes", bob, eve), 429)
		wantDeposit(t, r, envelope(500, "4", eve), 200)
		wantDeposit(t, r, envelope(500, "5", newWallet(t)), 429)
	})
}

func TestChallengesAreCounted(t *testing.T) {
	env := []string{"ARCHON_DIDCOMM_MAX_CHALLENGES=3"}
	forEachEngine(t, env, func(t *testing.T, r *relay) {
		w := newWallet(t)
		held := prove(t, r, w)
		prove(t, r, w)
		prove(t, r, w)
		ask := request{Method: http.MethodGet, Path: "/api/v1/challenge"}
		wantRefusal(t, r.send(t, ask), http.StatusTooManyRequests)
		wantDeposit(t, r, envelope(500, "needs none", w), 200)
		if a := r.present(t, "fetch", held); a.Status != http.StatusOK {
			t.Errorf("fetching with a challenge held: %d %s", a.Status, a.Body)
		}
		wantType(t, r.send(t, ask), http.StatusOK)
		wantRefusal(t, r.send(t, ask), http.StatusTooManyRequests)
	})
}

func TestCapsSurviveARestart(t *testing.T) {
	for name, end := range map[string]func(*relay, testing.TB){"stopped": (*relay).stop, "killed": (*relay).kill} {
		t.Run(name, func(t *testing.T) {
			r := startRelay(t, "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=4096", "ARCHON_DIDCOMM_UPLOAD_LIMIT=4kb")
			w := newWallet(t)
			var want []string
			for i := range 4 {
				packed := envelope(1000, fmt.Sprint(i), w)
				wantDeposit(t, r, packed, 200)
				want = append(want, string(packed))
			}
			end(r, t)
			r.start(t)
			wantDeposit(t, r, envelope(1000, "one too many", w), 429)
			wantMail(t, r, w, want...)
		})
	}
}
