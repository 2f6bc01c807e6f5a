package pull_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pull"
)

// received is a request as the program at home sees it.
type received struct {
	*http.Request
	body []byte
}

// program is one at home that answers with answer, and notes what it got.
func program(t testing.TB, answer http.HandlerFunc) (url string, got chan received) {
	t.Helper()
	got = make(chan received, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the request: %v", err)
		}
		got <- received{r, b}
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func to(t testing.TB, address string) *pull.HTTP {
	t.Helper()
	h, err := pull.NewHTTP(address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func arrived(change func(*pull.Delivery)) pull.Delivery {
	d := pull.Delivery{
		ID: "d1", Hook: pull.Hook{ID: "secret-id", Name: "app"}, Received: time.UnixMilli(1760000000123),
		Request: delivery.Request{Method: "POST", URL: "https://relay.example/hooks/secret-id?a=%2f+b;c", Body: []byte("x")},
	}
	change(&d)
	return d
}

func TestTheRequestIsMadeAgain(t *testing.T) {
	url, got := program(t, nil)
	gzip := []byte{0x1f, 0x8b, 8, 0, 0, 0xff}
	answer, err := to(t, url+"/in/{hook}").Deliver(t.Context(), arrived(func(d *pull.Delivery) {
		d.Request.Body = gzip
		d.Request.Headers = [][2]string{
			{"Content-Encoding", "gzip"}, {"Content-Length", "999"}, {"Connection", "keep-alive"}, {"Accept-Encoding", "br"},
			{"X-Twice", "1"}, {"X-Twice", "2"}, {"X-Name", "Ren\xe9"}, {"Host", "elsewhere.example"}, {"Expect", "100-continue"},
			{"Holdmail-Delivery-Id", "forged"}, {"holdmail-repeat", "true"}, {"Transfer-Encoding", "chunked"},
			{"Holdmail_Received_At", "2025-10-09T08:53:20Z"}, {"HOLDMAIL-Original_Url", "https://forged.example"}, {"content_length", "1"},
		}
	}))
	if err != nil || answer.Status != 200 {
		t.Fatalf("answered %+v, %v", answer, err)
	}
	r := <-got
	if r.Method != "POST" || r.RequestURI != "/in/app?a=%2f+b;c" || !bytes.Equal(r.body, gzip) || "http://"+r.Host != url {
		t.Errorf("got %s %s to %s with %q", r.Method, r.RequestURI, r.Host, r.body)
	}
	want := http.Header{
		"Content-Encoding": {"gzip"}, "Content-Length": {"6"}, "Accept-Encoding": {"br"}, "X-Twice": {"1", "2"}, "X-Name": {"Ren\xe9"}, "Connection": {"close"},
		pull.HeaderID: {"d1"}, pull.HeaderURL: {"https://relay.example/hooks/secret-id?a=%2f+b;c"},
	}
	for name, values := range want {
		if !slices.Equal(r.Header[name], values) {
			t.Errorf("%s is %q, want %q", name, r.Header[name], values)
		}
	}
	for name := range r.Header {
		if _, known := want[name]; !known {
			t.Errorf("got %s, which nobody sent: %q", name, r.Header[name])
		}
	}
}

func TestTheHandlerIsToldOfWaitsAndRepeats(t *testing.T) {
	url, got := program(t, nil)
	if _, err := to(t, url).Deliver(t.Context(), arrived(func(d *pull.Delivery) { d.Waited, d.Repeat = true, true })); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if at, again := r.Header.Get(pull.HeaderTime), r.Header.Get(pull.HeaderAgain); at != "2025-10-09T08:53:20.123Z" || again != "true" {
		t.Errorf("received at %q, repeat %q; want 2025-10-09T08:53:20.123Z, true", at, again)
	}
}

func TestGetHasNoBody(t *testing.T) {
	url, got := program(t, nil)
	d := arrived(func(d *pull.Delivery) {
		d.Request = delivery.Request{Method: "GET", URL: "https://relay.example/hooks/secret-id?echostr=1"}
	})
	if _, err := to(t, url+"/?key=k").Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.Method != "GET" || r.RequestURI != "/?key=k&echostr=1" || len(r.body) != 0 || r.ContentLength != 0 {
		t.Errorf("got %s %s with %d bytes", r.Method, r.RequestURI, r.ContentLength)
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   delivery.Response
	}{
		{"with a body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/xml")
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(201)
			io.WriteString(w, "<a/>")
		}, delivery.Response{Status: 201, Headers: [][2]string{{"Content-Type", "text/xml"}}, Body: []byte("<a/>")}},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, delivery.Response{Status: 204}},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Location", "/x"); w.WriteHeader(307) },
			delivery.Response{Status: 307}},
		{"as much as may be", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Write(make([]byte, 1<<20))
		}, delivery.Response{Status: 200, Body: make([]byte, 1<<20)}},
		{"a byte more", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20+1)) },
			delivery.Response{Status: 200}},
		{"a status of its own", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799); io.WriteString(w, "x") },
			delivery.Response{Status: 502}},
		{"another protocol", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "upgrade")
			w.Header().Set("Upgrade", "x")
			w.WriteHeader(101)
		}, delivery.Response{Status: 502}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := program(t, tt.answer)
			got, err := to(t, url).Deliver(t.Context(), arrived(func(*pull.Delivery) {}))
			if err != nil || got.Status != tt.want.Status || !slices.Equal(got.Headers, tt.want.Headers) || !bytes.Equal(got.Body, tt.want.Body) {
				t.Errorf("answered %d, %q, %d bytes, %v; want %d, %q, %d bytes", got.Status, got.Headers, len(got.Body), err, tt.want.Status, tt.want.Headers, len(tt.want.Body))
			}
		})
	}
}

func TestWhoIsNotThereIsNotAFailure(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := to(t, gone.URL).Deliver(t.Context(), arrived(func(*pull.Delivery) {})); !errors.Is(err, pull.ErrNotThere) {
		t.Errorf("nobody listens: %v, want ErrNotThere", err)
	}
	url, _ := program(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := to(t, url).Deliver(t.Context(), arrived(func(*pull.Delivery) {})); err == nil || errors.Is(err, pull.ErrNotThere) {
		t.Errorf("it broke off: %v, want an error that is a failed try", err)
	}
}

// The log is told of these errors.
func TestErrorsTellNothingOfTheDelivery(t *testing.T) {
	url, _ := program(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, change := range map[string]func(*pull.Delivery){
		"it broke off":   func(d *pull.Delivery) { d.Request.URL += "&key=hunter2" },
		"no such URL":    func(d *pull.Delivery) { d.Request.URL += "&key=hunter2\x7f" },
		"no such method": func(d *pull.Delivery) { d.Request.URL += "&key=hunter2"; d.Request.Method = "A B" },
	} {
		_, err := to(t, url).Deliver(t.Context(), arrived(change))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error without the query", name, err)
		}
	}
}

// A computer that is asleep answers no SYN: a full queue of connections neither.
func TestWhoDoesNotPickUpIsNotThere(t *testing.T) {
	url := deaf(t)
	h, err := pull.NewHTTP(url, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Deliver(t.Context(), arrived(func(*pull.Delivery) {})); !errors.Is(err, pull.ErrNotThere) {
		t.Errorf("nobody picks up: %v, want ErrNotThere", err)
	}
}

// deaf listens, and its one place for a connection that waits is taken.
func deaf(t testing.TB) (url string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
	for range 8 { // until one is not picked up
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return "http://" + address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("eight connections are picked up, and none should be")
	return ""
}

func TestWhereRequestsMayGo(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:3000/{hook}": true, "https://app.lan/x?hook={hook}": true, "http://localhost:3000": true,
		"": false, "127.0.0.1:3000": false, "ftp://x/": false, "http://{hook}.lan/": false, "http:///x": false,
	} {
		if _, err := pull.NewHTTP(address, time.Second); (err == nil) != ok {
			t.Errorf("NewHTTP(%q): %v, want it taken: %v", address, err, ok)
		}
	}
}

func TestTheNameOfAHandlerHidesItsPassword(t *testing.T) {
	for address, want := range map[string]string{
		"http://app.lan/{hook}?a=%2f":                "http://app.lan/{hook}?a=%2f",
		"http://ann:hunter2@app.lan/{hook}?a={hook}": "http://ann:xxxxx@app.lan/{hook}?a={hook}",
	} {
		if got := to(t, address).String(); got != want {
			t.Errorf("String of %s = %s, want %s", address, got, want)
		}
	}
}

func TestWhereARelayMayBe(t *testing.T) {
	for _, tt := range []struct {
		address, socks string
		ok             bool
	}{
		{"https://relay.example", "", true},
		{"https://relay.example/", "127.0.0.1:9050", true},
		{"http://localhost:4236", "", true},
		{"http://127.0.0.1:4236", "", true},
		{"http://[::1]:4236", "", true},
		{"http://abc.onion", "127.0.0.1:9050", true},
		{"http://abc.onion", "", false},
		{"https://abc.onion", "", false},
		{"https://ABC.Onion", "", false},
		{"https://abc.onion.", "", false},
		{"http://ABC.ONION.", "127.0.0.1:9050", true},
		{"http://relay.example", "", false},
		{"http://relay.example", "127.0.0.1:9050", false},
		{"http://localhost.example", "", false},
		{"http://192.168.1.2:4236", "", false},
		{"https://user:word@relay.example", "", false},
		{"https://relay.example?token=x", "", false},
		{"https://relay.example", "9050", false},
		{"", "", false},
	} {
		if _, err := pull.NewRelay(tt.address, "t", tt.socks); (err == nil) != tt.ok {
			t.Errorf("NewRelay(%q, socks %q): %v, want it taken: %v", tt.address, tt.socks, err, tt.ok)
		}
	}
}

func TestTheTokenFollowsNoRedirect(t *testing.T) {
	var asked int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	relay := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer relay.Close()
	r, err := pull.NewRelay(relay.URL, "t", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Status(t.Context()); err == nil || asked != 0 {
		t.Errorf("Status: %v, and the other was asked %d times; want an error and none", err, asked)
	}
}

func TestParseHooks(t *testing.T) {
	got, err := pull.ParseHooks(strings.NewReader("# mine\n\n abc-1\ngithub -x_9  deadline=2.5s\n"))
	want := []pull.Hook{{ID: "abc-1", Name: "abc-1"}, {ID: "-x_9", Name: "github", Deadline: 2500 * time.Millisecond}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ParseHooks = %+v, %v; want %+v", got, err, want)
	}
	for _, h := range append(got, pull.NewHook("new")) {
		if back, err := pull.ParseHooks(strings.NewReader(h.Line())); err != nil || len(back) != 1 || back[0] != h {
			t.Errorf("%q reads back as %+v, %v; want %+v", h.Line(), back, err, h)
		}
	}
	for _, text := range []string{"a b c", "a/b", "..", ".. abc", "a b\nc b", "a b\na c", "deadline=3s", "a deadline=10s", "a deadline=0s", "a deadline=x", "a é"} {
		if got, err := pull.ParseHooks(strings.NewReader(text)); err == nil {
			t.Errorf("ParseHooks(%q) = %+v, want an error", text, got)
		}
	}
}
