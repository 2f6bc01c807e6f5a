package appliance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/seal"
)

const hookID = "sms-0123456789abcdef"

// hookRelay is a relay with a webhook door and one registered address.
type hookRelay struct {
	url    string
	key    seal.Key
	client *http.Client
	stop   func()
	t      testing.TB
}

func startHooks(t testing.TB, c Config) hookRelay {
	t.Helper()
	r := hookRelay{key: newKey(t), client: http.DefaultClient, t: t}.again(c)
	r.register()
	return r
}

// again is the relay after a start with c, and with what is changed of it.
func (r hookRelay) again(c Config, changed ...func(*Appliance)) hookRelay {
	r.t.Helper()
	setup := r.key.Setup()
	c.Hooks.Setup = &setup
	r.url, r.stop = start(r.t, c, func(a *Appliance) {
		for _, change := range changed {
			change(a)
		}
	})
	return r
}

// register names the one address, as the home computer does whenever it comes back.
func (r hookRelay) register() {
	r.t.Helper()
	r.home("PUT", "/relay/v1/hooks", fmt.Sprintf(`{"hooks":["%x"]}`, sha256.Sum256([]byte(hookID))), http.StatusNoContent, nil)
}

// home makes a call of the home computer, and reads its answer into said.
func (r hookRelay) home(method, path, body string, status int, said any) {
	r.t.Helper()
	got := r.call(method, path, body, "Authorization", "Bearer "+r.key.Token())
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != status {
		r.t.Fatalf("%s %s: %s %s, %v; want %d", method, path, got.Status, text, err, status)
	}
	if said != nil && json.Unmarshal(text, said) != nil {
		r.t.Fatalf("%s %s: %s", method, path, text)
	}
}

func (r hookRelay) call(method, path, body string, headers ...string) *http.Response {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func (r hookRelay) send(body string, headers ...string) *http.Response {
	r.t.Helper()
	return r.call("POST", "/hooks/"+hookID, body, headers...)
}

// handed is a delivery as the home computer gets it.
type handed struct {
	ID         string
	Hook       string
	ReceivedAt int64
	Sealed     []byte
	Live       bool
	Attempt    int
}

func (r hookRelay) next(query string) []handed {
	r.t.Helper()
	var said struct{ Deliveries []handed }
	r.home("GET", "/relay/v1/next"+query, "", http.StatusOK, &said)
	return said.Deliveries
}

// take opens the one delivery that waits, and acknowledges it.
func (r hookRelay) take() delivery.Request {
	r.t.Helper()
	batch := r.next("")
	if len(batch) != 1 {
		r.t.Fatalf("%d deliveries, want 1", len(batch))
	}
	request := r.open(batch[0])
	r.home("POST", "/relay/v1/ack", `{"ids":["`+batch[0].ID+`"]}`, http.StatusOK, nil)
	return request
}

func (r hookRelay) open(one handed) delivery.Request {
	r.t.Helper()
	plaintext, err := r.key.Open(one.ID, time.UnixMilli(one.ReceivedAt), one.Sealed)
	if err != nil {
		r.t.Fatal(err)
	}
	request, err := delivery.Parse(plaintext)
	if err != nil {
		r.t.Fatal(err)
	}
	return request
}

// raw sends bytes as they are, and returns the first answer's head and body as it
// came until the connection ended or the answer was whole.
func (r hookRelay) raw(sent string) *http.Response {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, sent); err != nil {
		r.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func TestARequestIsKeptAsItsSenderMadeIt(t *testing.T) {
	c := testConfig(t)
	c.PublicURL, c.Engine = "https://relay.example/didcomm", "memory"
	r := startHooks(t, c)
	defer r.stop()
	const path = "/hooks/" + hookID
	public := "https://relay.example" + path
	for _, tt := range []struct {
		name, sent string
		want       delivery.Request
	}{
		{"HTTP/1.0", "POST " + path + " HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
			delivery.Request{Method: "POST", URL: public, Headers: [][2]string{{"Content-Length", "2"}}, Body: []byte("hi")}},
		{"chunked", "POST " + path + " HTTP/1.1\r\nHost: other.example\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
			delivery.Request{Method: "POST", URL: public, Body: []byte("hi")}},
		{"bytes that say they are gzip", "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x00\xff\x01",
			delivery.Request{Method: "POST", URL: public, Headers: [][2]string{{"Content-Encoding", "gzip"}, {"Content-Length", "3"}}, Body: []byte{0, 255, 1}}},
		{"a query as it was written", "GET " + path + "?echo=%7e+a&b&&=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
			delivery.Request{Method: "GET", URL: public + "?echo=%7e+a&b&&=%zz"}},
		{"a slash at the end", "GET " + path + "/ HTTP/1.1\r\nHost: x\r\n\r\n",
			delivery.Request{Method: "GET", URL: public + "/"}},
		{"the absolute form, below the base path", "GET http://x.example/didcomm" + path + "?a HTTP/1.1\r\nHost: x\r\n\r\n",
			delivery.Request{Method: "GET", URL: "https://relay.example/didcomm" + path + "?a"}},
		{"headers", "GET " + path + " HTTP/1.1\r\nhost: x\r\nx-b: 2\r\nX-B: 1\r\nX-A: \xe9\r\nx-b: 2\r\nCookie: a=b\r\nX-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nTE: trailers\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n\r\n",
			delivery.Request{Method: "GET", URL: public, Headers: [][2]string{{"X-A", "\xe9"}, {"X-B", "2"}, {"X-B", "1"}, {"X-B", "2"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			answer := r.raw(tt.sent)
			if answer.StatusCode != http.StatusOK || answer.ContentLength > 0 {
				t.Errorf("%s of %d bytes, want a plain 200", answer.Status, answer.ContentLength)
			}
			if got := r.take(); !got.Equal(tt.want) {
				t.Errorf("kept %q\nwant %q", got.AppendJSON(nil), tt.want.AppendJSON(nil))
			}
		})
	}
}

// Whoever expects 100 Continue shows when the relay begins to read: of what it
// refuses it reads nothing.
func TestARefusalComesBeforeTheBody(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	const head = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	chunked, sized := head+"Transfer-Encoding: chunked\r\n\r\n", head+"Content-Length: 10\r\n\r\n"
	tooLong := head + fmt.Sprintf("Content-Length: %d\r\n\r\n", 1<<20+1)
	for _, tt := range []struct {
		name, sent string
		status     int
	}{
		{"no such address", "POST /hooks/unknown" + sized, 404},
		{"no such address, chunked", "POST /hooks/unknown" + chunked, 404},
		{"a longer path", "POST /hooks/" + hookID + "/x" + sized, 404},
		{"a slash in disguise", "POST /hooks/" + hookID + "%2Fx" + sized, 404},
		{"an escaped letter", "POST /hooks/%73" + hookID[1:] + sized, 404},
		{"another method", "PUT /hooks/" + hookID + sized, 405},
		{"too long", "POST /hooks/" + hookID + tooLong, 413},
		{"no token", "POST /relay/v1/ack" + sized, 401},
		{"a wanted one", "POST /hooks/" + hookID + sized, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			answer := r.raw(tt.sent)
			if answer.StatusCode != tt.status || tt.status != 100 && !answer.Close {
				t.Errorf("%s, close %v; want %d and the connection's end", answer.Status, answer.Close, tt.status)
			}
		})
	}
}

func TestWebhookStatuses(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	c.Hooks.MaxBody = 100
	r := startHooks(t, c)
	defer r.stop()
	token := []string{"Authorization", "Bearer " + r.key.Token()}
	hook := fmt.Sprintf("%x", sha256.Sum256([]byte(hookID)))
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
	}{
		{"a body at the bound", "POST", "/hooks/" + hookID, strings.Repeat("x", 100), nil, 200},
		{"one past it", "POST", "/hooks/" + hookID, strings.Repeat("x", 101), nil, 413},
		{"HEAD", "HEAD", "/hooks/" + hookID, "", nil, 405},
		{"DELETE", "DELETE", "/hooks/" + hookID, "", nil, 405},
		{"no id", "GET", "/hooks/", "", nil, 404},
		{"a long id", "GET", "/hooks/" + strings.Repeat("a", 257), "", nil, 404},
		{"no token", "GET", "/relay/v1/status", "", nil, 401},
		{"a wrong token", "GET", "/relay/v1/status", "", []string{"Authorization", "Bearer x"}, 401},
		{"the token in the URL", "GET", "/relay/v1/status?access_token=" + r.key.Token(), "", nil, 401},
		{"another scheme", "GET", "/relay/v1/status", "", []string{"Authorization", "Basic " + r.key.Token()}, 401},
		{"the token", "GET", "/relay/v1/status", "", token, 200},
		{"too many at once", "GET", "/relay/v1/next?max=17", "", token, 400},
		{"a wait that is none", "GET", "/relay/v1/next?wait=-1", "", token, 400},
		{"empty ids", "GET", "/relay/v1/next?holding=a,,b", "", token, 400},
		{"no hooks", "PUT", "/relay/v1/hooks", `{}`, token, 400},
		{"an id instead of its hash", "PUT", "/relay/v1/hooks", `{"hooks":["` + hookID + `"]}`, token, 400},
		{"no JSON", "PUT", "/relay/v1/hooks", `{"hooks":[`, token, 400},
		{"a deadline past the longest", "PUT", "/relay/v1/hooks", `{"hooks":["` + hook + `"],"deadlines":{"` + hook + `":9.1}}`, token, 400},
		{"a deadline of nobody", "PUT", "/relay/v1/hooks", `{"hooks":[],"deadlines":{"` + hook + `":3}}`, token, 400},
		{"a deadline", "PUT", "/relay/v1/hooks", `{"hooks":["` + hook + `"],"deadlines":{"` + hook + `":2.5}}`, token, 204},
		{"ids that are none", "POST", "/relay/v1/ack", `{"ids":[1]}`, token, 400},
		{"an answer that is none", "POST", "/relay/v1/ack", `{"answers":{"x":{"status":101}}}`, token, 400},
		{"an answer that is too large", "POST", "/relay/v1/ack", `{"answers":{"x":{"status":200,"body":{"text":"` + strings.Repeat("x", 1<<20+1) + `"}}}}`, token, 400},
		{"an answer to nobody", "POST", "/relay/v1/ack", `{"ids":["x"],"answers":{"x":{"status":200,"body":{"text":"` + strings.Repeat("x", 1<<20) + `"}}}}`, token, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			if got := r.call(tt.method, tt.path, tt.body, tt.headers...); got.StatusCode != tt.status {
				said, _ := io.ReadAll(got.Body)
				t.Errorf("%s %s, want %d", got.Status, said, tt.status)
			}
		})
	}
	var status map[string]any
	r.home("GET", "/relay/v1/status", "", http.StatusOK, &status)
	if status["protocol"] != 1.0 || status["keyId"] != r.key.Setup().KeyID() || status["depth"] != 1.0 || status["max"] != 2000.0 || status["oldest"] == nil {
		t.Errorf("status %v", status)
	}
}

func TestWithoutASetupCodeThereIsNoWebhookDoor(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	url, stop := start(t, c, nil)
	defer stop()
	r := hookRelay{url: url, client: http.DefaultClient, t: t}
	for _, call := range [][2]string{{"POST", "/hooks/" + hookID}, {"PUT", "/hooks/" + hookID}, {"GET", "/relay/v1/status"}, {"GET", "/relay/v1/next"}} {
		if got := r.call(call[0], call[1], ""); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: %s, want 404", call[0], call[1], got.Status)
		}
	}
}

func TestAFullQueueRefusesAndKeepsWhatItHas(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	c.Hooks.Caps.HookDeliveries = 2
	r := startHooks(t, c)
	defer r.stop()
	for i, want := range []int{200, 200, 503} {
		got := r.send("x")
		if got.StatusCode != want || want == 503 && got.Header.Get("Retry-After") == "" {
			t.Errorf("delivery %d: %s, Retry-After %q; want %d", i, got.Status, got.Header.Get("Retry-After"), want)
		}
	}
	if got := len(r.next("")); got != 2 {
		t.Errorf("%d deliveries, want 2", got)
	}
	if got := r.call("GET", "/health", ""); got.StatusCode != http.StatusOK {
		t.Errorf("/health: %s; mail is not full", got.Status)
	}
}

func TestTheWebhookBudgets(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	c.Hooks.PerAddress, c.Hooks.PerMinute, c.ReadGlobal, c.ReadPerSource = 3, 100, 2, 2
	r := startHooks(t, c)
	defer r.stop()
	for range 3 {
		if got := r.send("x"); got.StatusCode != http.StatusOK {
			t.Errorf("within the budget: %s", got.Status)
		}
	}
	if got := r.send("x"); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("past it: %s, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
	for i, want := range []int{401, 404, 429} { // strangers pay as readers
		path := []string{"/relay/v1/next", "/hooks/unknown", "/hooks/unknown"}[i]
		if got := r.call("GET", path, ""); got.StatusCode != want {
			t.Errorf("stranger's call %d: %s, want %d", i, got.Status, want)
		}
	}
	if got := len(r.next("")); got != 3 { // and the home computer does not
		t.Errorf("%d deliveries, want 3", got)
	}
}

func TestALiveAnswerGoesBackAsItCame(t *testing.T) {
	c := testConfig(t)
	c.Engine, c.RateLimit = "memory", false
	r := startHooks(t, c)
	defer r.stop()
	for {
		sent := make(chan *http.Response, 1)
		batch, live := r.exchange(sent)
		if !live {
			<-sent // it came before the home computer waited
			continue
		}
		answer := delivery.Response{Status: 418, Headers: [][2]string{{"content-type", "text/x-tea"}, {"Set-Cookie", "a=b"}}, Body: []byte{0, 255}}
		text, err := json.Marshal(map[string]any{"ids": []string{batch[0].ID}, "answers": map[string]any{batch[0].ID: answer}})
		if err != nil {
			t.Fatal(err)
		}
		r.home("POST", "/relay/v1/ack", string(text), http.StatusOK, nil)
		got := <-sent
		if got == nil {
			t.Fatal("no answer")
		}
		body, err := io.ReadAll(got.Body)
		if got.StatusCode != 418 || got.Header.Get("Content-Type") != "text/x-tea" || got.Header.Get("Set-Cookie") != "" || !bytes.Equal(body, answer.Body) {
			t.Errorf("%s %v %q, %v", got.Status, got.Header, body, err)
		}
		return
	}
}

func TestTwilioGetsAnEmptyDocument(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	got := r.send("Body=hi", "X-Twilio-Signature", "x")
	body, err := io.ReadAll(got.Body)
	if err != nil || got.Header.Get("Content-Type") != "text/xml" || !strings.HasSuffix(string(body), "<Response></Response>") {
		t.Errorf("%q %s, %v", got.Header.Get("Content-Type"), body, err)
	}
}

func TestWhatIsHandedToOneWhoLeftIsHandedToTheNextAtOnce(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := hookRelay{key: newKey(t), client: http.DefaultClient, t: t}.again(c, func(a *Appliance) { a.handler = leavers(a.handler) })
	defer r.stop()
	r.register()
	r.send("hello")
	request, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/relay/v1/next", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.key.Token())
	request.Header.Set("Leaves", "yes")
	if answer, err := r.client.Do(request); err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err == nil {
			t.Error("the answer is whole: the caller did not leave")
		}
	}
	if batch := r.next(""); len(batch) != 1 || batch[0].Attempt != 1 {
		t.Errorf("handed out %+v, want the delivery, for the first time", batch)
	}
}

// leavers has callers who say so leave when the first byte of their answer is
// written, as the server finds out while it writes.
func leavers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Leaves") == "" {
			h.ServeHTTP(w, r)
			return
		}
		ctx, leave := context.WithCancel(r.Context())
		defer leave()
		h.ServeHTTP(leaver{w, leave}, r.WithContext(ctx))
	})
}

type leaver struct {
	http.ResponseWriter
	leave func()
}

func (l leaver) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l leaver) Write(p []byte) (int, error) {
	l.leave()
	return l.ResponseWriter.Write(p)
}

func TestAStopLetsWaitingSendersGo(t *testing.T) {
	c := testConfig(t)
	c.RateLimit = false
	r := startHooks(t, c)
	for {
		sent := make(chan *http.Response, 1)
		batch, live := r.exchange(sent)
		if !live {
			<-sent // it came before the home computer waited
			continue
		}
		began := time.Now()
		r.stop()
		if got := <-sent; got == nil || got.StatusCode != http.StatusOK || time.Since(began) > drainFor {
			t.Errorf("the sender of %s got %v after %v, want 200 within %v", batch[0].ID, got, time.Since(began), drainFor)
		}
		return
	}
}

// exchange asks for a delivery and sends one, and reports whether its sender waits.
func (r hookRelay) exchange(sent chan<- *http.Response) (batch []handed, live bool) {
	r.t.Helper()
	home := make(chan []handed, 1)
	go func() {
		defer close(home) // also when it fails
		home <- r.next("?wait=25")
	}()
	go func() {
		defer close(sent)
		sent <- r.send("hello")
	}()
	batch, ok := <-home
	if !ok {
		r.t.FailNow()
	}
	return batch, len(batch) > 0 && batch[0].Live
}
