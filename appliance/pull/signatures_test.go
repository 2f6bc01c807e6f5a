package pull_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pull"
)

//go:embed testdata/stripe.json
var stripeBody string

func mac(of func() hash.Hash, key, text string) []byte {
	m := hmac.New(of, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// scheme is one sender's way to sign, with an answer that is published: secret,
// request and signature are not ours, and sign is what a receiver computes.
type scheme struct {
	name, source string
	url          string // "" where it is not signed
	headers      [][2]string
	body         string
	header       string // that has the signature
	sign         func(r *http.Request, body string) string
}

func schemes() []scheme {
	return []scheme{{
		name: "Standard Webhooks", source: "standard-webhooks/standard-webhooks, the libraries' own test",
		headers: [][2]string{
			{"Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek"}, {"Webhook-Timestamp", "1614265330"},
			{"Webhook-Signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		},
		body: `{"test": 2432232314}`, header: "Webhook-Signature",
		sign: func(r *http.Request, body string) string {
			key, _ := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
			text := r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + body
			return "v1," + base64.StdEncoding.EncodeToString(mac(sha256.New, string(key), text))
		},
	}, {
		name: "GitHub", source: "GitHub docs, validating webhook deliveries",
		headers: [][2]string{{"X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}},
		body:    "Hello, World!", header: "X-Hub-Signature-256",
		sign: func(_ *http.Request, body string) string {
			return "sha256=" + hex.EncodeToString(mac(sha256.New, "It's a Secret to Everybody", body))
		},
	}, {
		name: "Stripe", source: "async-stripe, src/webhook.rs, test of construct_event",
		headers: [][2]string{{"Stripe-Signature", "t=1533204620,v1=82216eca827bcb7b34b8055eb2d2d9e6bc13b9ac39ded14a61e69f70c565f53a"}},
		body:    stripeBody, header: "Stripe-Signature",
		sign: func(r *http.Request, body string) string {
			at, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Stripe-Signature"), "t="), ",")
			return "t=" + at + ",v1=" + hex.EncodeToString(mac(sha256.New, "webhook_secret", at+"."+body))
		},
	}, {
		name: "Twilio", source: "Twilio docs, validating requests, and twilio-python's test",
		url: "https://mycompany.com/myapp.php?foo=1&bar=2",
		headers: [][2]string{
			{"Content-Type", "application/x-www-form-urlencoded"}, {"X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
		},
		body: "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212", header: "X-Twilio-Signature",
		sign: func(r *http.Request, body string) string {
			form, _ := url.ParseQuery(body)
			text := r.Header.Get(pull.HeaderURL)
			for _, name := range slices.Sorted(maps.Keys(form)) {
				text += name + form.Get(name)
			}
			return base64.StdEncoding.EncodeToString(mac(sha1.New, "12345", text))
		},
	}, {
		name: "Slack", source: "Slack docs, verifying requests",
		headers: [][2]string{
			{"X-Slack-Request-Timestamp", "1531420618"},
			{"X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
		},
		body:   "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
		header: "X-Slack-Signature",
		sign: func(r *http.Request, body string) string {
			text := "v0:" + r.Header.Get("X-Slack-Request-Timestamp") + ":" + body
			return "v0=" + hex.EncodeToString(mac(sha256.New, "8f742231b10e8888abcd99yyyzzz85a5", text))
		},
	}, {
		name: "LINE", source: "line-bot-sdk-nodejs, test of validateSignature",
		headers: [][2]string{{"X-Line-Signature", "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM="}},
		body:    `{"hello":"world"}`, header: "X-Line-Signature",
		sign: func(_ *http.Request, body string) string {
			return base64.StdEncoding.EncodeToString(mac(sha256.New, "test_secret", body))
		},
	}}
}

// A signature holds at the receiver, after the request was sealed, kept, opened and
// made again, and only for this very body.
func TestSignaturesHoldAtTheReceiver(t *testing.T) {
	for _, s := range schemes() {
		t.Run(s.name, func(t *testing.T) {
			var got *http.Request
			var body string
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got, body = r, string(b)
			}))
			defer receiver.Close()

			h := newHome(t)
			r := delivery.Request{Method: "POST", URL: "https://relay.example/hooks/myapp.php", Headers: s.headers, Body: []byte(s.body)}
			if s.url != "" {
				r.URL = s.url
			}
			h.hooks = []pull.Hook{{ID: "myapp.php", Name: "app"}}
			i := h.sealed("d1", h.now, r)
			i.Hook = hookHash("myapp.php")
			h.relay.put(i)
			h.drainTo(receiver.URL + "/in/{hook}")

			if got == nil {
				t.Fatal("the receiver got nothing")
			}
			if want := got.Header.Get(s.header); s.sign(got, body) != want || want == "" {
				t.Errorf("signed %q, want %q (%s)", s.sign(got, body), want, s.source)
			}
			if s.name != "Twilio" && s.sign(got, body+" ") == got.Header.Get(s.header) {
				t.Error("the signature holds for another body")
			}
		})
	}
}

// drainTo runs pull, with HTTP, until nothing waits.
func (h *home) drainTo(to string) {
	h.Helper()
	handler, err := pull.NewHTTP(to, 5*time.Second)
	if err != nil {
		h.Fatal(err)
	}
	p, l := h.open(handler)
	defer l.Close()
	p.Once = true
	if err := p.Run(h.Context()); err != nil {
		h.Fatal(err)
	}
}
