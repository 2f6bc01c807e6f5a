package appliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/source"
)

const upload = "POST / HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n"

// readBody reads a request's body and answers with its length, or what ended it.
func readBody(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "too slow", http.StatusRequestTimeout)
	case errors.Is(err, flight.ErrEnded):
		http.Error(w, "ended", http.StatusServiceUnavailable)
	}
}

func unlimited() sharedMemory { return held(1<<40, 1<<40) }

// held is a memory of which each source has a share.
func held(total, share int64) sharedMemory {
	return sharedMemory{flight.NewBudget(total), share, total}
}

func TestBodiesThatComeTooSlowly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		piece   int
		every   time.Duration
		pieces  int // at most
		status  string
		givenUp time.Duration // 0: not looked at
	}{
		{"nothing", 1, time.Hour, 0, "408", stallAfter},
		{"a byte and no more", 1, time.Second, 1, "408", stallAfter + time.Second},
		{"a byte now and then", 1, stallAfter - time.Second, 100, "408", slowFor},
		{"a little too slow", 1000, time.Second, 1000, "408", slowFor},
		{"slow to the end", 1100, time.Second, 1000, "200", 0},
		{"20 KB/s to the end", 20_000, time.Second, 50, "200", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, begun := dial(t, unlimited(), readBody), time.Now()
				write(t, caller, upload)
				feed(t, caller, tt.piece, tt.pieces, tt.every)
				answer := string(read(t, caller))
				if took := time.Since(begun).Round(time.Second); !strings.HasPrefix(answer, "HTTP/1.1 "+tt.status) || tt.givenUp != 0 && took != tt.givenUp {
					t.Errorf("after %v the answer is %q; want %s after %v", took, answer, tt.status, tt.givenUp)
				}
			})
		})
	}
}

func TestALargestUploadOverTorComesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, piece = 5 << 20, 20_000
		c := Config{UploadLimit: size, MemoryBudget: 32 << 20, Engine: "bolt"}
		caller := dial(t, newMemory(c), func(w http.ResponseWriter, r *http.Request) {
			if body, err := door.Body(r, size); len(body) != size || err != nil {
				t.Errorf("body of %d bytes, %v", len(body), err)
			}
		})
		write(t, caller, fmt.Sprintf("POST / HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			size, strings.Repeat("a", size%piece)))
		feed(t, caller, piece, size/piece, time.Second)
		if answer := string(read(t, caller)); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("answer = %q", answer)
		}
	})
}

func TestAStreamThatMustMakeRoomIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := held(10, 10)
		ended := make(chan error, 1)
		stream, pipe := io.Pipe()
		go func() {
			ended <- askHTTP2(t, shared, stream, func(w http.ResponseWriter, r *http.Request) {
				if err := flight.Of(r.Context()).Hold(10); err != nil {
					t.Error(err)
				}
				readBody(w, r)
			})
		}()
		if _, err := pipe.Write([]byte("abc")); err != nil {
			t.Error(err)
		}
		time.Sleep(flight.Grace)
		if err := shared.Begin(nil).Hold(10); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("the stream ended with %v, want 503", err)
		}
	})
}

// askHTTP2 posts body to h behind arrivals, by HTTP/2, and returns an answer that
// is not a 200 as an error.
func askHTTP2(t testing.TB, shared sharedMemory, body io.Reader, h http.HandlerFunc) error {
	here, there := net.Pipe()
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- there
	var both http.Protocols
	both.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: arrivals(h, shared), Protocols: &both, HTTP2: http2Limits()}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	transport := &http.Transport{
		Protocols:   &both,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return here, nil },
	}
	defer func() {
		transport.CloseIdleConnections()
		_ = here.Close()
		_ = server.Close()
		<-done
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://relay/", body)
	if err != nil {
		return err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

func TestALongTailIsSlowWhateverCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := dial(t, unlimited(), readBody)
		write(t, caller, upload+strings.Repeat("a", 999_000))
		begun := time.Now()
		feed(t, caller, 1, 500, stallAfter/2)
		if answer := string(read(t, caller)); !strings.HasPrefix(answer, "HTTP/1.1 408") || time.Since(begun).Round(time.Second) != slowFor {
			t.Errorf("after %v the answer is %q; want 408 after %v", time.Since(begun), answer, slowFor)
		}
	})
}

func TestTheDeadlineIsGoneWithTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := dial(t, unlimited(), func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); string(body) != "abc" || err != nil {
				t.Errorf("body = %q, %v", body, err)
			}
			time.Sleep(2 * slowFor)
			if err := r.Context().Err(); err != nil {
				t.Error(err)
			}
		})
		write(t, caller, "POST / HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
		if answer := string(read(t, caller)); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("answer = %q", answer)
		}
	})
}

func TestABodyThatNobodyReadsIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := dial(t, unlimited(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
		begun := time.Now()
		write(t, caller, "POST / HTTP/1.1\r\nHost: relay\r\nContent-Length: 100\r\n\r\nonly this")
		if answer := string(read(t, caller)); time.Since(begun).Round(time.Second) != leaveAfter {
			t.Errorf("after %v the connection ended with %q; want that after %v", time.Since(begun), answer, leaveAfter)
		}
	})
}

func TestABodyThatMustMakeRoomIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := held(10, 10)
		caller := dial(t, shared, func(w http.ResponseWriter, r *http.Request) {
			if err := flight.Of(r.Context()).Hold(10); err != nil {
				t.Error(err)
			}
			readBody(w, r)
		})
		write(t, caller, upload)
		time.Sleep(flight.Grace)
		other := shared.Begin(nil)
		if err := other.Hold(10); err != nil {
			t.Error(err)
		}
		if answer := string(read(t, caller)); !strings.HasPrefix(answer, "HTTP/1.1 503") {
			t.Errorf("answer = %q", answer)
		}
	})
}

func TestNetworksOfOneCustomerShareTheirMemory(t *testing.T) {
	shared := held(1000, 250)
	post := func(network string, h http.HandlerFunc) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("body"))
		from := source.Source{Key: netip.MustParsePrefix(network), Ceiling: netip.MustParsePrefix("2001:db8:1::/48")}
		arrivals(h, shared).ServeHTTP(httptest.NewRecorder(), source.With(r, from))
	}
	post("2001:db8:1:1::/64", func(_ http.ResponseWriter, r *http.Request) {
		if err := flight.Of(r.Context()).Hold(250); err != nil {
			t.Fatal(err)
		}
		post("2001:db8:1:2::/64", func(_ http.ResponseWriter, r *http.Request) {
			if err := flight.Of(r.Context()).Hold(1); err != flight.ErrBusy {
				t.Errorf("another network of a customer who has a share got %v, want %v", err, flight.ErrBusy)
			}
		})
	})
}

// feed writes so many pieces to conn, one at each tick, until conn or the test ends.
func feed(t testing.TB, conn net.Conn, size, pieces int, every time.Duration) {
	t.Helper()
	tick, enough, done := time.NewTicker(every), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range pieces {
			select {
			case <-tick.C:
			case <-enough:
				return
			}
			if _, err := conn.Write(make([]byte, size)); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(enough)
		conn.Close()
		<-done
	})
}

// dial serves h behind arrivals, and returns a caller's end of a connection to it.
func dial(t testing.TB, shared sharedMemory, h http.HandlerFunc) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- there
	s := &http.Server{Handler: arrivals(h, shared)}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = here.Close()
		<-done
	})
	return here
}

func write(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, conn net.Conn) []byte {
	t.Helper()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oneConn is a listener with one connection.
type oneConn struct{ conn chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error   { close(l.conn); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A webhook's GET has no body, and headers that are kept: they take memory, too.
func TestARequestWithoutABodyHasALoad(t *testing.T) {
	shared := held(100, 100)
	answer := func(w http.ResponseWriter, r *http.Request) {
		if err := flight.Of(r.Context()).Hold(60); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/first" {
			h := arrivals(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := flight.Of(r.Context()).Hold(60); !errors.Is(err, flight.ErrBusy) {
					t.Errorf("beside the first: Hold = %v, want %v", err, flight.ErrBusy)
				}
			}), shared)
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/second", nil))
		}
	}
	for range 2 { // what the first held is free again
		w := httptest.NewRecorder()
		arrivals(http.HandlerFunc(answer), shared).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/first", nil))
		if w.Code != http.StatusOK {
			t.Errorf("%d, want 200", w.Code)
		}
	}
}
