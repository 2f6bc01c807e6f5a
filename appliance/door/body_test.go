package door_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
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
				got, err := door.Body(r, limit)
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
	_, err := door.Body(r, 100)
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
		_, err := door.Body(r, 5<<20)
		checkStatus(t, err, 400)
	})
	if allocated > 64<<10 {
		t.Errorf("%d bytes were allocated for a body that never came", allocated)
	}
}

func TestADeclaredBodyIsGivenNoMoreThanItsLength(t *testing.T) {
	const size = 1<<20 + 1
	// net/http tells the end of a declared body together with its last byte.
	r := httptest.NewRequest("POST", "/", iotest.DataErrReader(strings.NewReader(strings.Repeat("a", size))))
	r.ContentLength = size
	body, err := door.Body(r, 5<<20)
	if len(body) != size || cap(body) != size || err != nil {
		t.Errorf("Body = %d bytes in the room of %d, %v; want %d", len(body), cap(body), err, size)
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
	_, err := door.Body(r, 100)
	checkStatus(t, err, 400)
	r.Header.Set("Content-Encoding", "gzip")
	_, err = door.Body(r, 100)
	checkStatus(t, err, 400)
}

// out is a network error that says that the time is over.
type out struct{ error }

func (out) Timeout() bool   { return true }
func (out) Temporary() bool { return false }

func TestABodyThatIsNotWaitedForAnyMoreIsRefusedByItsReason(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{out{errors.New("i/o timeout")}, 408},
		{flight.ErrEnded, 503},
		{io.ErrUnexpectedEOF, 400},
	} {
		for _, coding := range []string{"", "gzip"} {
			r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("\x1f\x8b"), iotest.ErrReader(tt.err)))
			r.Header.Set("Content-Encoding", coding)
			_, err := door.Body(r, 100)
			checkStatus(t, err, tt.status)
		}
	}
}

func TestWhatReadingABodyHoldsIsCounted(t *testing.T) {
	const limit = 5 << 20
	exact := strings.Repeat("a", limit)
	for _, tt := range []struct {
		name, coding, sent string
		declared           int64
	}{
		{"declared", "", exact, limit},
		{"undeclared", "", exact, -1},
		{"gzip", "gzip", gzipped(t, exact), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for room, status := range map[int64]int{door.RoomFor(limit): 0, limit: 503} {
				share := flight.ShareFor(room)
				budget := flight.NewBudget(flight.TotalFor(share))
				load := budget.Begin(nil, flight.Holder{Name: "ann", Most: share})
				r := httptest.NewRequest("POST", "/", iotest.DataErrReader(strings.NewReader(tt.sent)))
				r.ContentLength = tt.declared
				r.Header.Set("Content-Encoding", tt.coding)
				body, err := door.Body(r.WithContext(flight.With(r.Context(), load)), limit)
				checkStatus(t, err, status)
				if err != nil {
					continue
				}
				if load.Hold(room) == nil {
					t.Error("the body is not held")
				}
				load.Drop(int64(cap(body)))
				if load.Hold(room) != nil {
					t.Errorf("more than a body of %d bytes is held", cap(body))
				}
			}
		})
	}
}
