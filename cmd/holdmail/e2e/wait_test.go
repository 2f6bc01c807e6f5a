package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// longWait is a fetch that waits, under way.
type longWait struct {
	leave  context.CancelFunc
	answer chan error // nil for a 200
	got    pickup
}

// wait begins a fetch that waits as long as one may, from an address.
func (r *relay) wait(t testing.TB, address string, w wallet) *longWait {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	l := &longWait{leave: leave, answer: make(chan error, 1)}
	body := w.claim(challenge(t, r), more{"wait": 60})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+"/api/v1/messages/fetch", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", address)
	go func() {
		a, err := r.do(req)
		if err == nil {
			err = json.Unmarshal(a.Body, &l.got)
		}
		l.answer <- err
	}()
	return l
}

// over reports whether l was answered.
func (l *longWait) over() bool { return len(l.answer) > 0 }

// waits begins a wait for each of the wallets, and returns once all of them do. The
// address must have so many places and no more: one more is answered at once.
func (r *relay) waits(t testing.TB, address string, wallets ...wallet) []*longWait {
	t.Helper()
	all := make([]*longWait, len(wallets))
	eventually(t, 20*time.Second, func() (bool, string) {
		for i, w := range wallets {
			if all[i] == nil || all[i].over() { // who asked for one more was first
				all[i] = r.wait(t, address, w)
			}
		}
		return !r.mayWait(t, address), "there is still a place"
	})
	return all
}

// mayWait asks to wait for a second, and reports whether it could.
func (r *relay) mayWait(t testing.TB, address string) bool {
	t.Helper()
	start := time.Now()
	body := newWallet(t).claim(challenge(t, r), more{"wait": 1})
	wantJSON(t, r.mustFrom(t, address, http.MethodPost, "/api/v1/messages/fetch", body), `{"messages":[]}`)
	return time.Since(start) >= time.Second
}

func TestADepositEndsTheWait(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		r, ann, bob := startRelay(t, "ARCHON_DIDCOMM_DB="+engine, "HOLDMAIL_MAX_WAITERS=3"), newWallet(t), newWallet(t)
		waits := r.waits(t, "", ann, ann, bob)
		id := mustFile(t, r, envelope(300, "letter", ann))
		for _, l := range waits[:2] {
			if err := <-l.answer; err != nil || len(l.got.Messages) != 1 || l.got.Messages[0].ID != id {
				t.Errorf("%s: %v, %+v; want the letter", engine, err, l.got)
			}
		}
		if bobs := waits[2]; bobs.over() {
			t.Errorf("%s: ann's letter woke bob: %+v", engine, bobs.got)
		}
	}
}

// TestAStopEndsTheWaits: at once, and each with an answer.
func TestAStopEndsTheWaits(t *testing.T) {
	t.Parallel()
	r, w := startRelay(t, "HOLDMAIL_MAX_WAITERS=2"), newWallet(t)
	waits := r.waits(t, "", w, w)
	start := time.Now()
	r.stop(t)
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("stopping took %v", took)
	}
	for _, l := range waits {
		if err := <-l.answer; err != nil || l.got.Messages == nil || len(l.got.Messages) != 0 {
			t.Errorf("a wait ended with %v, %+v; want an empty list", err, l.got)
		}
	}
}

// TestWhoLeavesMakesRoomForAnother: the relay notices that a client is gone while it
// waits.
func TestWhoLeavesMakesRoomForAnother(t *testing.T) {
	t.Parallel()
	r := startRelay(t, "HOLDMAIL_MAX_WAITERS=1")
	l := r.waits(t, "", newWallet(t))[0]
	l.leave()
	<-l.answer
	eventually(t, 10*time.Second, func() (bool, string) { return r.mayWait(t, ""), "the place is taken still" })
}

func TestASourceHasATenthOfTheWaits(t *testing.T) {
	t.Parallel()
	r := budgeted(t, "HOLDMAIL_MAX_WAITERS=10")
	l := r.waits(t, "203.0.113.1", newWallet(t))[0]
	if !r.mayWait(t, "203.0.113.2") {
		t.Error("another source may not wait")
	}
	if l.over() {
		t.Error("the first was answered")
	}
}

func TestAThousandWaitersCostLittleMemory(t *testing.T) {
	const waiters, most = 1000, 32 << 20
	r := waitersRelay(t, "bolt", waiters)
	_, _, idle := r.fillWithWaiters(t, waiters)
	if cost := r.anonymous(t) - idle; cost > most {
		t.Errorf("%d waiters cost %.1f MiB, want %.0f at most", waiters, mebibytes(cost), mebibytes(most))
	}
}
