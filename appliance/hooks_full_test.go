package appliance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// envelopeTo is a deposit for one recipient.
func envelopeTo(t testing.TB, recipient, ciphertext string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"protected": "e30", "iv": "x", "tag": "x", "ciphertext": ciphertext,
		"recipients": []any{map[string]any{"header": map[string]string{"kid": recipient + "#k"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r hookRelay) deposit() *http.Response {
	r.t.Helper()
	return r.call("POST", "/api/v1/messages", envelopeTo(r.t, "did:cid:ann", strings.Repeat("x", 1000)))
}

// want fails unless got has that status, and says when to come again if it is a refusal.
func (r hookRelay) want(what string, got *http.Response, status int) {
	r.t.Helper()
	if got.StatusCode != status || status != http.StatusOK && got.Header.Get("Retry-After") == "" {
		r.t.Errorf("%s: %s, Retry-After %q; want %d", what, got.Status, got.Header.Get("Retry-After"), status)
	}
}

// Mail and webhooks have one file and caps of their own: neither fills the other's.
func TestMailAndWebhooksDoNotStarveEachOther(t *testing.T) {
	for _, engine := range []string{"bolt", "memory"} {
		t.Run(engine, func(t *testing.T) {
			c := testConfig(t)
			c.Engine = engine
			c.Caps.TotalMessages, c.Hooks.Caps.Deliveries = 2, 3
			r := startHooks(t, c)
			defer r.stop()
			for range 2 {
				r.want("a deposit", r.deposit(), http.StatusOK)
			}
			r.want("one too many", r.deposit(), http.StatusTooManyRequests)
			for range 3 {
				r.want("a delivery while mail is full", r.send("x"), http.StatusOK)
			}
			r.want("one too many", r.send("x"), http.StatusServiceUnavailable)
			r.acknowledgeAll(3)
			for range 3 {
				r.want("a delivery in the place of one that is acknowledged", r.send("x"), http.StatusOK)
			}
			r.want("a deposit, still", r.deposit(), http.StatusTooManyRequests)
		})
	}
}

func TestFullWebhooksLeaveMailItsRoom(t *testing.T) {
	c := testConfig(t)
	c.Hooks.Caps.Deliveries = 1
	r := startHooks(t, c)
	defer r.stop()
	r.want("a delivery", r.send("x"), http.StatusOK)
	r.want("one too many", r.send("x"), http.StatusServiceUnavailable)
	r.want("a deposit while webhooks are full", r.deposit(), http.StatusOK)
}

// acknowledgeAll lets go what is handed out at one time, which must be want.
func (r hookRelay) acknowledgeAll(want int) {
	r.t.Helper()
	var ids []string
	for _, one := range r.next("") {
		ids = append(ids, one.ID)
	}
	text, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, want := range []int{want, 0} { // the second time there are none
		var said struct{ Acked int }
		r.home("POST", "/relay/v1/ack", string(text), http.StatusOK, &said)
		if said.Acked != want {
			r.t.Errorf("%d acknowledged, want %d", said.Acked, want)
		}
	}
}

// A disk without room takes no delivery. What is kept can be had and acknowledged,
// and leaves its room to others.
func TestAFullDiskRefusesDeliveriesAndNothingElse(t *testing.T) {
	c := testConfig(t)
	c.Hooks.Caps.HookBytes = c.Hooks.Caps.Bytes
	r := startHooks(t, c)
	r.stop()
	c.DiskFloor = 1 << 50 // more than there is: the file stays as large as it is
	r = r.again(c)
	defer r.stop()
	body, kept := strings.Repeat("x", 1<<19), 0
	for r.fits(body) {
		if kept++; kept == 60 {
			t.Fatal("a disk without end")
		}
	}
	if kept == 0 {
		t.Fatal("not even one finds room")
	}
	r.register() // as the home computer does that comes to make room
	r.home("GET", "/relay/v1/status", "", http.StatusOK, nil)
	r.acknowledgeAll(kept)
	r.want("a delivery in the place of those", r.send(body), http.StatusOK)
}

// fits sends a body, and reports false when the disk has no room for it.
func (r hookRelay) fits(body string) bool {
	r.t.Helper()
	got := r.send(body)
	if got.StatusCode == http.StatusOK {
		return true
	}
	r.want("a delivery without room", got, http.StatusServiceUnavailable)
	said, err := io.ReadAll(got.Body)
	if err != nil || !strings.Contains(string(said), storage.ErrNoRoom.Error()) {
		r.t.Errorf("refused with %s, %v; want %v", said, err, storage.ErrNoRoom)
	}
	return false
}
