package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// While pull waits, a sender gets the receiver's own answer.
func TestWebhookLive(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "live")
	for _, tt := range []struct {
		name, query string
		headers     []string // name, value, ...
		body        string
		status      int
		kind, want  string // of the answer; {id} stands for the delivery's id
	}{
		{"an echo", "?echostr=12%2034", nil, "", 200, "text/plain", "12 34"},
		{"a status", "", []string{"Test-Status", "202"}, "x", 202, "application/json", `{"handled":"{id}"}`},
		{"a refusal", "", []string{"X-Line-Signature", "no"}, "x", 401, "text/plain", "who are you?"},
		{"nothing", "", []string{"Test-Status", "204"}, "x", 204, "application/json", ""},
	} {
		got := h.live(t, path+tt.query, tt.body, tt.headers...)
		all := h.receiver.handled(t)
		want := strings.ReplaceAll(tt.want, "{id}", all[len(all)-1].ID)
		if got.Status != tt.status || string(got.Body) != want || got.Header.Get("Content-Type") != tt.kind {
			t.Errorf("%s: answered %d %s %q, want %d %s %q", tt.name, got.Status, got.Header.Get("Content-Type"), got.Body, tt.status, tt.kind, want)
		}
	}
}

// live delivers until somebody waited for that: the home computer may be between two
// calls. Headers may sign it, and one that is signed is told by its query from the one
// before, or it would be handed over no more.
func (h *home) live(t testing.TB, path, body string, headers ...string) (a answer) {
	t.Helper()
	tries, to := 0, path
	eventually(t, 20*time.Second, func() (bool, string) {
		h.drained(t)
		if tries++; len(headers) > 0 {
			to = fmt.Sprint(path, "?try=", tries)
		}
		a = h.deliver(t, to, body, headers...)
		kept := a.Status == http.StatusOK && len(a.Body) == 0
		return !kept, "kept, and not answered\n" + h.log.String()
	})
	return a
}

// While nobody pulls, a sender is told at once that its delivery is kept, Twilio in
// its own language. What waited is handed over in order once somebody does.
func TestWebhookQueued(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "queued")
	h.stop(t)
	for _, tt := range []struct {
		name, body, kind, want string
		headers                []string
	}{
		{"a plain sender", "1", "", "", nil},
		{"Twilio", "2", "text/xml", `<?xml version="1.0" encoding="UTF-8"?><Response></Response>`, []string{"X-Twilio-Signature", "x"}},
	} {
		got := h.deliver(t, path, tt.body, tt.headers...)
		if got.Status != http.StatusOK || string(got.Body) != tt.want || got.Header.Get("Content-Type") != tt.kind {
			t.Errorf("%s: answered %d %s %q, want 200 %s %q", tt.name, got.Status, got.Header.Get("Content-Type"), got.Body, tt.kind, tt.want)
		}
	}
	// A sender whose words are the same says them twice; one that signs repeats itself.
	h.deliver(t, path, "1")
	h.deliver(t, path, "2", "X-Twilio-Signature", "x")
	h.relay.stop(t)
	h.relay.start(t)
	h.spawn(t)
	all := h.receiver.await(t, 3)
	for i, scheme := range []string{"", "twilio", ""} {
		if all[i].Scheme != scheme {
			t.Errorf("the %dth was signed by %q, want %q", i+1, all[i].Scheme, scheme)
		}
	}
	if all[0].Repeat != "" || all[2].Repeat != "true" || all[0].SHA256 != all[2].SHA256 || all[0].ID == all[2].ID {
		t.Errorf("equal words came as %+v and %+v, want the second marked as a repeat", all[0], all[2])
	}
	h.drained(t)
	h.receiver.await(t, 3)
}

// A delivery whose answer was held when pull was killed comes again, under the same
// id, and then no more.
func TestWebhookKilledBetweenWorkAndLedger(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "held")
	answered := make(chan answer, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodPost, h.relay.URL+path, nil)
		req.Header.Set("Test-Hold", "yes")
		a, _ := h.relay.do(req)
		answered <- a
	}()
	first := h.receiver.await(t, 1)[0]
	h.kill(t)
	h.spawn(t)
	again := h.receiver.await(t, 2)[1]
	if again.ID != first.ID || again.Repeat != "" {
		t.Errorf("%q came again as %q, marked %q", first.ID, again.ID, again.Repeat)
	}
	if a := <-answered; a.Status != http.StatusOK {
		t.Errorf("its sender was answered %d, want 200", a.Status)
	}
	h.drained(t)
	h.receiver.await(t, 2)
}
