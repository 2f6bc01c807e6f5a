package door_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func deflated(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// incompressible is n bytes of text that no coding makes much shorter.
func incompressible(n int) string {
	noise := rand.NewChaCha8([32]byte{})
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(noise.Uint64() % 128)
	}
	return string(b)
}

func TestBody(t *testing.T) {
	const limit = 100_000
	exact, over := strings.Repeat("a", limit), strings.Repeat("a", limit+1)
	noise := incompressible(limit)
	for _, tt := range []struct {
		name   string
		coding string
		sent   string
		want   string
		status int // 0: the body is read
	}{
		{"empty", "", "", "", 0},
		{"text", "", "abc", "abc", 0},
		{"identity", "identity", "abc", "abc", 0},
		{"exactly the limit", "", exact, exact, 0},
		{"one byte over", "", over, "", 413},
		{"gzip", "gzip", gzipped(t, "abc"), "abc", 0},
		{"gzip in capitals", " GZIP", gzipped(t, "abc"), "abc", 0},
		{"gzip of two members", "gzip", gzipped(t, "abc") + gzipped(t, "def"), "abcdef", 0},
		{"gzip of exactly the limit", "gzip", gzipped(t, exact), exact, 0},
		{"gzip that grew past the limit", "gzip", gzipped(t, noise), noise, 0},
		{"gzip one byte over", "gzip", gzipped(t, over), "", 413},
		{"gzip bomb", "gzip", gzipped(t, strings.Repeat("a", 1<<20)), "", 413},
		{"endless empty members", "gzip", strings.Repeat(gzipped(t, ""), 5_000), "", 413},
		{"gzip cut short", "gzip", gzipped(t, exact)[:50], "", 400},
		{"gzip with a wrong checksum", "gzip", strings.Replace(gzipped(t, "abc"), gzipped(t, "abc")[20:], "xxxxxxxx", 1), "", 400},
		{"gzip with a tail", "gzip", gzipped(t, "abc") + "tail", "", 400},
		{"no gzip", "gzip", "abc", "", 400},
		{"nothing for gzip", "gzip", "", "", 400},
		{"deflate", "deflate", deflated(t, "abc"), "abc", 0},
		{"deflate of exactly the limit", "deflate", deflated(t, exact), exact, 0},
		{"deflate one byte over", "deflate", deflated(t, over), "", 413},
		{"deflate with a tail", "deflate", deflated(t, "abc") + "tail", "", 400},
		{"deflate cut short", "deflate", deflated(t, "abc")[:5], "", 400},
		{"another coding", "br", "abc", "", 415},
		{"two codings", "gzip, gzip", gzipped(t, gzipped(t, "abc")), "", 415},
		{"byte order mark", "", "\uFEFF{}", "{}", 0},
		{"byte order mark in gzip", "gzip", gzipped(t, "\uFEFF{}"), "{}", 0},
		{"not UTF-8", "", "{\"a\":\"\xff\"}", "", 400},
		{"surrogates in UTF-8", "", "\xed\xa0\x80", "", 400},
	} {
		for _, declared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/declared=%v", tt.name, declared), func(t *testing.T) {
				r := httptest.NewRequest("POST", "/", strings.NewReader(tt.sent))
				if !declared {
					r.ContentLength = -1
				}
				if tt.coding != "" {
					r.Header.Set("Content-Encoding", tt.coding)
				}
				got, err := door.Body(httptest.NewRecorder(), r, limit)
				checkStatus(t, err, tt.status)
				if string(got) != tt.want {
					t.Errorf("body of %d bytes, want %d", len(got), len(tt.want))
				}
			})
		}
	}
}

// checkStatus fails unless err is a *door.Error of this status, or nil for 0.
func checkStatus(t testing.TB, err error, status int) {
	t.Helper()
	e, ok := errors.AsType[*door.Error](err)
	if ok != (status != 0) || ok && e.Status != status {
		t.Errorf("error = %v, want status %d", err, status)
	}
}

func TestADeclaredLengthOverTheLimitIsRefusedUnread(t *testing.T) {
	r := httptest.NewRequest("POST", "/", iotest.ErrReader(errors.New("the body was read")))
	r.ContentLength = 101
	_, err := door.Body(httptest.NewRecorder(), r, 100)
	e, ok := errors.AsType[*door.Error](err)
	if !ok || e.Status != 413 || !e.Close {
		t.Errorf("error = %+v", err)
	}
}

func TestADeclaredLengthAloneBuysNoMemory(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	r.ContentLength = 5 << 20
	r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	allocated := allocatedBy(func() {
		_, err := door.Body(httptest.NewRecorder(), r, 5<<20)
		checkStatus(t, err, 400)
	})
	if allocated > 64<<10 {
		t.Errorf("%d bytes were allocated for a body that never came", allocated)
	}
}

// allocatedBy counts the bytes that f and whatever runs beside it allocate.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestACallerThatLeavesInItsBodyIsNotOurError(t *testing.T) {
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	_, err := door.Body(httptest.NewRecorder(), r, 100)
	checkStatus(t, err, 400)
	r.Header.Set("Content-Encoding", "gzip")
	_, err = door.Body(httptest.NewRecorder(), r, 100)
	checkStatus(t, err, 400)
}

func TestAStalledBodyIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := dial(t, func(w http.ResponseWriter, r *http.Request) error {
			_, err := door.Body(w, r, 100)
			return err
		})
		begun := time.Now()
		write(t, caller, "POST / HTTP/1.1\r\nHost: relay\r\nContent-Length: 10\r\n\r\nabc")
		if got := string(read(t, caller)); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "Connection: close") {
			t.Errorf("answer = %s", got)
		}
		if got := time.Since(begun); got != door.StallTime {
			t.Errorf("given up after %v, want %v", got, door.StallTime)
		}
	})
}

func TestASlowBodyIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := dial(t, func(w http.ResponseWriter, r *http.Request) error {
			body, err := door.Body(w, r, 100)
			if err != nil {
				return err
			}
			time.Sleep(2 * door.StallTime) // the deadline is gone with the body
			if err := r.Context().Err(); err != nil {
				return err
			}
			return door.JSON(w, 200, string(body))
		})
		write(t, caller, "POST / HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: 3\r\n\r\n")
		for _, b := range "abc" {
			time.Sleep(door.StallTime - 1)
			write(t, caller, string(b))
		}
		if got := string(read(t, caller)); !strings.HasSuffix(got, "\r\n\r\n\"abc\"") {
			t.Errorf("answer = %s", got)
		}
	})
}

// dial serves one route and returns a caller's end of a connection to it.
func dial(t testing.TB, h door.Handler) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	l := &oneConn{conn: make(chan net.Conn, 1)}
	l.conn <- there
	s := &http.Server{Handler: door.Handle(door.Route{Handler: h}, nil, journal(io.Discard))}
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
