package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// example is a request whose signature somebody else computed.
type example struct {
	scheme  string
	query   string // that the signature covers, with its question mark
	at      int64  // when it was signed, in Unix seconds; 0 where that does not matter
	headers map[string]string
	body    string
}

// published are the examples that the senders' own manuals and libraries give,
// where they give any.
func published() []example {
	return []example{
		{ // the specification's own, from the libraries' tests
			scheme: "standard", at: 1614265330, body: `{"test": 2432232314}`,
			headers: map[string]string{
				"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
				"Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
			},
		},
		{ // docs.github.com, "Validating webhook deliveries"
			scheme: "github", body: "Hello, World!",
			headers: map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
		},
		{ // none is published with its secret: `openssl dgst -sha256 -hmac` says so
			scheme: "stripe", at: 1700000000, body: `{"id": "evt_known", "object": "event"}`,
			headers: map[string]string{"Stripe-Signature": "t=1700000000,v1=b6d04f7716d170ffb3e6255c7fe8d9d3801b74de134f1d7ac221d2a6f9d41c8b"},
		},
		{ // the form of twilio.com's "Webhooks security", over an address here, by `openssl dgst -sha1 -hmac`
			scheme: "twilio", query: "?foo=1&bar=2", body: twilioForm,
			headers: map[string]string{"X-Twilio-Signature": "ZrTsI0eA9kfYy8ufr0XLzIo3Ge8=", "Content-Type": "application/x-www-form-urlencoded"},
		},
		{ // docs.slack.dev, "Verifying requests from Slack"
			scheme: "slack", at: 1531420618, body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow" +
				"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
				"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
				"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
			headers: map[string]string{
				"X-Slack-Request-Timestamp": "1531420618", "Content-Type": "application/x-www-form-urlencoded",
				"X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
			},
		},
		{ // LINE's own SDK, in its tests
			scheme: "line", body: `{"hello":"world"}`,
			headers: map[string]string{"X-Line-Signature": "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM="},
		},
	}
}

// What the published Twilio examples have in common, and the address that ours
// is computed over.
const (
	twilioForm    = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"
	examplePublic = "https://hooks.example"
	exampleHook   = "known-answers-of-" // and the scheme: the id
)

// request is the example as its sender sends it to base, plus headers.
func (e example) request(t testing.TB, base string, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+e.query, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	if e.at != 0 {
		req.Header.Set("Test-Clock", fmt.Sprint(e.at))
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// The receiver itself can tell: it trusts each published example as it stands, and
// none with one byte more. Twilio's stands with its own address here.
func TestWebhookReceiver(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	examples := append(published(), example{
		scheme: "twilio", body: twilioForm,
		headers: map[string]string{"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "Holdmail-Original-Url": "https://mycompany.com/myapp.php?foo=1&bar=2"},
	})
	for _, e := range examples {
		ours := examplePublic + "/hooks/" + exampleHook + e.scheme + e.query
		if e.headers["Holdmail-Original-Url"] != "" {
			ours = e.headers["Holdmail-Original-Url"]
		}
		for _, tt := range []struct {
			body string
			want int
		}{{e.body, http.StatusOK}, {e.body + " ", http.StatusUnauthorized}} {
			e.body = tt.body
			resp, err := http.DefaultClient.Do(e.request(t, r.URL, "Holdmail-Original-Url", ours))
			if err != nil {
				t.Fatalf("%v\n%s", err, r.log)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.want {
				t.Errorf("%s: %q is answered %d, want %d", e.scheme, tt.body, resp.StatusCode, tt.want)
			}
		}
	}
}
