package appliance

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// discarded is how much of a body that nobody reads may be taken off the wire, so that
// its sender gets to read the refusal, in bytes. Buffers and the head come on top.
const discarded = 256<<10 + 64<<10

// A refused sender that goes on sending is heard out to a bound, and no further.
func TestOfARefusedBodyLittleIsRead(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	var mu sync.Mutex
	var conn *crowdConn // that the last request came by
	r := hookRelay{key: newKey(t), client: http.DefaultClient, t: t}.again(c, func(a *Appliance) {
		next := a.handler
		a.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			conn = connOf(r)
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	defer r.stop()
	r.register()
	for _, tt := range []struct {
		name, head string
		status     int
	}{
		{"no such address", "POST /hooks/unknown HTTP/1.1\r\nHost: x\r\n", 404},
		{"no such address, HTTP/1.0", "POST /hooks/unknown HTTP/1.0\r\n", 404},
		{"a longer path", "POST /hooks/" + hookID + "/x HTTP/1.1\r\nHost: x\r\n", 404},
		{"another method", "PUT /hooks/" + hookID + " HTTP/1.1\r\nHost: x\r\n", 405},
		{"too long", "POST /hooks/" + hookID + " HTTP/1.1\r\nHost: x\r\n", 413},
		{"no token", "PUT /relay/v1/hooks HTTP/1.1\r\nHost: x\r\n", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			head := tt.head + "Content-Length: 100000000\r\n\r\n"
			answer := r.raw(head)
			if answer.StatusCode != tt.status || !answer.Close {
				t.Errorf("%s, close %v; want %d and the connection's end", answer.Status, answer.Close, tt.status)
			}
			if r.flow(head) == nil {
				t.Error("all of the body was taken")
			}
			mu.Lock()
			read := conn.read.Load()
			mu.Unlock()
			if read > discarded {
				t.Errorf("%d bytes were read, want %d at most", read, discarded)
			}
		})
	}
}

// flow sends a request with a body of a hundred million bytes, whatever is answered.
func (r hookRelay) flow(head string) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, head); err != nil {
		return err
	}
	piece := make([]byte, 1<<16)
	for sent := 0; sent < 100_000_000; sent += len(piece) {
		if _, err := conn.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func TestAnotherMethodIsToldThoseThereAre(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE"} {
		got := r.call(method, "/hooks/"+hookID, "")
		if allow := got.Header.Get("Allow"); got.StatusCode != http.StatusMethodNotAllowed || allow != "GET, OPTIONS, POST" {
			t.Errorf("%s: %s, Allow %q", method, got.Status, allow)
		}
	}
}

// What is refused today may be let in tomorrow.
func TestNothingOfTheWebhookDoorIsForCaches(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	for _, path := range []string{"/hooks/" + hookID, "/hooks/unknown", "/relay/v1/next"} {
		if got := r.call("GET", path, ""); got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s, Cache-Control %q", path, got.Status, got.Header.Get("Cache-Control"))
		}
	}
}

// Over HTTP/2 names come in small letters, and a body needs no length.
func TestADeliveryOverHTTP2IsKeptAsAnyOther(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	trusted := withCertificate(t, &c)
	way := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}
	defer way.CloseIdleConnections()
	r := hookRelay{key: newKey(t), client: &http.Client{Transport: way}, t: t}.again(c)
	defer r.stop()
	r.url = strings.Replace(r.url, "http:", "https:", 1)
	r.register()
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/hooks/"+hookID+"?a=%20", io.MultiReader(strings.NewReader("hi"))) // of no known length
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"X-B": {"2", "1"}, "X-A": {"1"}, "Cookie": {"a=b"}, "Te": {"trailers"}, "User-Agent": {"x"}, "Accept-Encoding": {"gzip"}}
	answer, err := r.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.ProtoMajor != 2 || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s, want 200 over HTTP/2", answer.Proto, answer.Status)
	}
	want := delivery.Request{
		Method: "POST", URL: r.url + "/hooks/" + hookID + "?a=%20", Body: []byte("hi"),
		Headers: [][2]string{{"Accept-Encoding", "gzip"}, {"User-Agent", "x"}, {"X-A", "1"}, {"X-B", "2"}, {"X-B", "1"}},
	}
	if got := r.take(); !got.Equal(want) {
		t.Errorf("kept %q\nwant %q", got.AppendJSON(nil), want.AppendJSON(nil))
	}
	if got := r.call("POST", "/hooks/unknown", "x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("no such address: %s, want 404", got.Status)
	}
}
