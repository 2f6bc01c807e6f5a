package pull_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/pull"
)

// answering is a relay that answers status rightly, and next with next.
func (h *home) answering(next http.HandlerFunc) {
	h.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/relay/v1/status":
			fmt.Fprintf(w, `{"keyId":%q}`, h.key.Setup().KeyID())
		case "/relay/v1/next":
			next(w, r)
		}
	}))
	h.Cleanup(s.Close)
	h.relay.url = s.URL
}

// What a relay that was broken into may answer, or something that is no relay.
func TestAnswersThatAreNone(t *testing.T) {
	item := `{"id":"d1","hook":"` + hookHash("secret-id") + `","receivedAt":1760000000000,"sealed":"AAAA"}`
	for name, answer := range map[string]string{
		"nothing":              ``,
		"a page":               `<html>`,
		"a list":               `[]`,
		"half":                 `{"deliveries":[` + item,
		"deliveries of a kind": `{"deliveries":{}}`,
		"a number among them":  `{"deliveries":[` + item + `,1]}`,
		"no base64":            `{"deliveries":[{"id":"d1","sealed":"?"}]}`,
		"no id":                `{"deliveries":[{"sealed":"AAAA"}]}`,
		"a long id":            `{"deliveries":[{"id":"` + strings.Repeat("x", 65) + `"}]}`,
		"an id of two":         `{"deliveries":[{"id":"d1,d2"}]}`,
		"a line break in one":  `{"deliveries":[{"id":"d1\nX: y"}]}`,
		"more than asked for":  `{"deliveries":[` + strings.Repeat(item+",", 16) + item + `]}`,
		"a name without end":   `{"` + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.answering(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
			if err := h.drain(); err == nil || len(err.Error()) > 1000 {
				t.Errorf("Run: %.2000v, want a short error", err)
			}
			if ids := h.handler.ids(); len(ids) != 0 {
				t.Errorf("handed over %v", ids)
			}
		})
	}
}

// Small deliveries by the million would each take more memory than bytes on the wire.
func TestNoMoreIsReadThanWasAskedFor(t *testing.T) {
	const all = 90 << 20
	h := newHome(t)
	var sent atomic.Int64
	h.answering(func(w http.ResponseWriter, _ *http.Request) {
		many := strings.Repeat(`{"id":"d"},`, 10000)
		io.WriteString(w, `{"deliveries":[`)
		for sent.Load() < all {
			n, err := io.WriteString(w, many)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	if err := h.drain(); err == nil || !strings.Contains(err.Error(), "more than it was asked for") {
		t.Errorf("Run: %v, want that it is more than was asked for", err)
	}
	if n := sent.Load(); n > all/2 {
		t.Errorf("%d bytes were taken", n)
	}
}

func TestTheTokenIsInNoError(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		r.Write(w)
	}))
	defer echo.Close()
	r, err := pull.NewRelay(echo.URL, "hunter2", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Status(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "502") {
		t.Errorf("Status: %v, want 502 and not the token", err)
	}
}

// line is a way to a relay over which each piece of an answer takes a while.
type line struct {
	pieces []string
	each   time.Duration
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &slowBody{r.Context(), l}}, nil
}

type slowBody struct {
	ctx context.Context
	*line
}

func (b *slowBody) Read(p []byte) (int, error) {
	select {
	case <-time.After(b.each):
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.pieces[0])
	b.pieces = b.pieces[1:]
	return n, nil
}

func (b *slowBody) Close() error { return nil }

func TestASlowLineIsNoSilentOne(t *testing.T) {
	for _, tt := range []struct {
		name string
		each time.Duration
		long bool
		want string
	}{
		{"deliveries that go on coming", 29 * time.Second, true, ""},
		{"deliveries that stop", 31 * time.Second, true, "silent"},
		{"a status that never ends", 29 * time.Second, false, "silent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := pull.NewRelay("https://relay.example", "token", "")
				if err != nil {
					t.Fatal(err)
				}
				r.Over(&line{pieces: strings.SplitAfter(`{"deliveries":[]}`, ""), each: tt.each})
				if tt.long {
					err = r.Next(t.Context())
				} else {
					_, err = r.Status(t.Context())
				}
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%v, want an error with %q", err, tt.want)
				}
			})
		})
	}
}

func TestOneConnectionServesAllCalls(t *testing.T) {
	var connections atomic.Int64
	relay := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // chunked, with an end of its own
		io.WriteString(w, `{"deliveries":[]}`+"\n")
	}))
	relay.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	relay.Start()
	defer relay.Close()
	r, err := pull.NewRelay(relay.URL, "token", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, errStatus := r.Status(t.Context())
		if err := errors.Join(errStatus, r.Next(t.Context()), r.Acknowledge(t.Context(), "d1")); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
