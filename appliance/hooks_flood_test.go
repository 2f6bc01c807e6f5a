package appliance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Strangers with wrong addresses and wrong tokens, and senders whose bodies do not
// come, on nearly all the connections there are, keep no call of the home computer
// from its answer.
func TestAFloodDoesNotReachTheHomeComputersCalls(t *testing.T) {
	const connections, deliveries = 500, 30
	c := testConfig(t)
	c.ReadPerSource, c.ReadGlobal = connections/2, connections/2 // soon spent, by strangers
	r := startHooks(t, c)
	defer r.stop()
	for range deliveries {
		if got := r.send("hello"); got.StatusCode != http.StatusOK {
			t.Fatal(got.Status)
		}
	}
	f := flood(r, connections, []string{
		"POST /hooks/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
		"GET /relay/v1/next?wait=25 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("x", 16<<10) + "\r\n\r\n",
		"POST /relay/v1/ack HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
		"POST /hooks/" + hookID + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nslow",
	})
	defer f.end()
	until(t, func() bool {
		stranger := r.call("GET", "/relay/v1/status", "")
		stranger.Body.Close()
		return f.open() >= connections*9/10 && stranger.StatusCode == http.StatusTooManyRequests
	})
	for range deliveries {
		batch := r.next("?wait=25&max=1")
		if len(batch) != 1 {
			t.Fatalf("%d deliveries handed out, want 1", len(batch))
		}
		var acked struct{ Acked int }
		r.home("POST", "/relay/v1/ack", fmt.Sprintf(`{"ids":[%q]}`, batch[0].ID), http.StatusOK, &acked)
		if acked.Acked != 1 {
			t.Errorf("%d acknowledged, want 1", acked.Acked)
		}
	}
	r.home("GET", "/relay/v1/status", "", http.StatusOK, nil)
}

// flooding is many connections on which a request is begun, again and again.
type flooding struct {
	address string
	mu      sync.Mutex // guards conns
	conns   map[net.Conn]bool
	g       sync.WaitGroup
	over    chan struct{}
}

func flood(r hookRelay, connections int, requests []string) *flooding {
	f := &flooding{address: strings.TrimPrefix(r.url, "http://"), conns: map[net.Conn]bool{}, over: make(chan struct{})}
	for i := range connections {
		f.g.Go(func() {
			for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
				select {
				case <-f.over:
					return
				default:
					f.send(requests[i%len(requests)])
				}
			}
		})
	}
	return f
}

// send begins a request on a connection of its own, and stays until that ends.
func (f *flooding) send(request string) {
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.conns[conn] = true
	f.mu.Unlock()
	_, _ = io.WriteString(conn, request) // a refusal may come first
	_, _ = io.Copy(io.Discard, conn)
	f.mu.Lock()
	delete(f.conns, conn)
	f.mu.Unlock()
	conn.Close()
}

func (f *flooding) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

func (f *flooding) end() {
	close(f.over)
	done := make(chan struct{})
	go func() { f.g.Wait(); close(done) }()
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		select {
		case <-done:
			return
		default:
		}
		f.mu.Lock()
		for conn := range f.conns {
			conn.Close()
		}
		f.mu.Unlock()
	}
}
