package e2e

import (
	"net/http"
	"testing"
	"time"
)

// The published examples hold after the trip, Twilio's over the relay's public
// URL; so do messages that the senders' own libraries sign now.
func TestWebhookSigned(t *testing.T) {
	t.Parallel()
	h := newHome(t, "HOLDMAIL_PUBLIC_URL="+examplePublic)
	h.Public = examplePublic
	h.relay.start(t)
	hooks := map[string]string{}
	for _, scheme := range schemes() {
		hooks[scheme] = h.writeHook(t, scheme, exampleHook+scheme)
	}
	h.start(t, hooks["line"])

	examples := published()
	for i, e := range examples {
		a, err := h.relay.do(e.request(t, h.relay.URL+hooks[e.scheme]))
		if err != nil || a.Status != http.StatusOK {
			t.Fatalf("%s: answered %d %s, %v\n%s", e.scheme, a.Status, a.Body, err, h.relay.log)
		}
		if got := h.receiver.await(t, i+1)[i]; got.Scheme != e.scheme || !got.Trusted {
			t.Errorf("%s: came signed by %q, trusted %v", e.scheme, got.Scheme, got.Trusted)
		}
	}

	const each = 3
	what := task{To: h.relay.URL, Public: h.Public, Hooks: hooks, End: each * len(examples), Senders: 2}
	startSending(t, what).report(t, time.Minute)
	all := h.receiver.await(t, len(examples)*(1+each))
	for _, got := range all[len(examples):] {
		if !got.Trusted {
			t.Errorf("message %s by %s is not trusted", got.Number, got.Scheme)
		}
	}
}
