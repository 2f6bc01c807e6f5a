package door_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
)

var errFull = errors.New("it is full")

var rules = []door.Rule{
	{Is: errFull, Answer: door.Error{Status: http.StatusTooManyRequests, Message: "mailbox full", RetryAfter: 1500 * time.Millisecond}},
	{Is: io.ErrNoProgress, Answer: door.Error{Status: http.StatusBadRequest}},
}

// call asks h, as a route of its own, and returns the answer and the log.
func call(t testing.TB, r *http.Request, h door.Handler) (*http.Response, string, string) {
	t.Helper()
	var log strings.Builder
	w := httptest.NewRecorder()
	door.Handle(door.Route{Path: "/route", Handler: h}, rules, journal(&log)).ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body), log.String()
}

func journal(w io.Writer) *door.Journal {
	return door.NewJournal(slog.New(slog.NewTextHandler(w, nil)))
}

func TestErrorsBecomeAnswers(t *testing.T) {
	secret := errors.New("/var/lib/secret: EIO")
	for _, tt := range []struct {
		name   string
		err    error
		status int
		body   string
		log    string // what its one line has
	}{
		{"a rule's", fmt.Errorf("filing: %w", errFull), 429, `{"error":"mailbox full"}`, `level=INFO msg=refused method=GET route=/route source=192.0.2.1 status=429 answer="mailbox full"`},
		{"a rule's without a sentence", io.ErrNoProgress, 400, `{"error":"` + io.ErrNoProgress.Error() + `"}`, "status=400"},
		{"an Error", &door.Error{Status: 503, Message: "away", Cause: secret}, 503, `{"error":"away"}`, `level=WARN msg=failed method=GET route=/route source=192.0.2.1 status=503 answer=away cause="/var/lib/secret: EIO"`},
		{"an Error with a body", &door.Error{Status: 503, Body: map[string]bool{"ready": false}}, 503, `{"ready":false}`, "status=503"},
		{"unknown", secret, 500, `{"error":"internal error"}`, `level=ERROR msg=failed method=GET route=/route source=192.0.2.1 status=500 answer="internal error" cause="/var/lib/secret: EIO"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, body, log := call(t, httptest.NewRequest("GET", "/a/strangers/path", nil),
				func(http.ResponseWriter, *http.Request) error { return tt.err })
			if res.StatusCode != tt.status || body != tt.body {
				t.Errorf("answer = %d %s, want %d %s", res.StatusCode, body, tt.status, tt.body)
			}
			if got := res.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type = %q", got)
			}
			if strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.log) {
				t.Errorf("log = %q, want one line with %q", log, tt.log)
			}
			if strings.Contains(log, "strangers") {
				t.Errorf("log names a stranger's path: %q", log)
			}
		})
	}
}

func TestCauseOfARefusalIsForTheDebugLevelOnly(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		var log strings.Builder
		j := door.NewJournal(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})))
		h := func(http.ResponseWriter, *http.Request) error { return fmt.Errorf("of did:cid:ann: %w", errFull) }
		door.Handle(door.Route{Handler: h}, rules, j).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		if got := strings.Contains(log.String(), "did:cid:ann"); got != want {
			t.Errorf("at %v the cause is shown: %v, want %v", level, got, want)
		}
	}
}

func TestRetryAfterIsRoundedUpAndCloseIsSaid(t *testing.T) {
	res, _, _ := call(t, httptest.NewRequest("GET", "/", nil), func(http.ResponseWriter, *http.Request) error {
		return &door.Error{Status: 413, RetryAfter: 1500 * time.Millisecond, Close: true}
	})
	if res.Header.Get("Retry-After") != "2" || res.Header.Get("Connection") != "close" {
		t.Errorf("headers = %v", res.Header)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	for _, err := range []error{nil, errFull} {
		res, body, _ := call(t, httptest.NewRequest("HEAD", "/", nil), func(w http.ResponseWriter, _ *http.Request) error {
			if err != nil {
				return err
			}
			return door.JSON(w, 200, "text")
		})
		if body != "" || res.Header.Get("Content-Length") == "" {
			t.Errorf("after %v: body %q, headers %v", err, body, res.Header)
		}
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	res, body, log := call(t, httptest.NewRequest("GET", "/", nil), func(http.ResponseWriter, *http.Request) error { panic("a bug") })
	if res.StatusCode != 500 || body != `{"error":"internal error"}` || !strings.Contains(log, "a bug") {
		t.Errorf("answer = %d %s, log %q", res.StatusCode, body, log)
	}
}

func TestAnAnswerThatCannotBeEncodedIsAnInternalError(t *testing.T) {
	res, _, log := call(t, httptest.NewRequest("GET", "/", nil), func(w http.ResponseWriter, _ *http.Request) error {
		return door.JSON(w, 200, make(chan int))
	})
	if res.StatusCode != 500 || !strings.Contains(log, "encoding an answer") {
		t.Errorf("answer = %d, log %q", res.StatusCode, log)
	}
}

// aborted runs h and fails unless it ends the connection; it returns the log.
func aborted(t testing.TB, r *http.Request, w http.ResponseWriter, h door.Handler) string {
	t.Helper()
	var log strings.Builder
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", p)
		}
	}()
	door.Handle(door.Route{Path: "/route", Handler: h}, rules, journal(&log)).ServeHTTP(w, r)
	return log.String()
}

// begin sends the first piece of a list.
func begin(w http.ResponseWriter) {
	fmt.Fprint(w, "[1,")
	_ = http.NewResponseController(w).Flush()
}

func TestAnAnswerThatFailsOnItsWayEndsTheConnection(t *testing.T) {
	for name, h := range map[string]door.Handler{
		"error": func(w http.ResponseWriter, _ *http.Request) error {
			begin(w)
			return errors.New("disk trouble")
		},
		"panic": func(w http.ResponseWriter, _ *http.Request) error {
			begin(w)
			panic("disk trouble")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, h)
			res, err := http.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("the answer ended well: %s", body)
			}
			server.Close()
			if got := server.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "answer cut short") || !strings.Contains(got, "disk trouble") {
				t.Errorf("log = %q", got)
			}
		})
	}
}

func TestACallerThatLeftIsNoNews(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	if log := aborted(t, r, httptest.NewRecorder(), func(_ http.ResponseWriter, r *http.Request) error {
		return fmt.Errorf("reading: %w", r.Context().Err())
	}); log != "" {
		t.Errorf("log = %q", log)
	}
	if log := aborted(t, httptest.NewRequest("GET", "/", nil), deaf{httptest.NewRecorder()}, func(w http.ResponseWriter, _ *http.Request) error {
		return door.JSON(w, 200, "text")
	}); log != "" {
		t.Errorf("log = %q", log)
	}
}

func TestAnAbortByTheHandlerPassesThrough(t *testing.T) {
	aborted(t, httptest.NewRequest("GET", "/", nil), httptest.NewRecorder(), func(http.ResponseWriter, *http.Request) error {
		panic(http.ErrAbortHandler)
	})
}

// deaf is a caller that takes no bytes.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// server is one route on a real connection. Its log may be read once it is closed.
type server struct {
	*httptest.Server
	log *strings.Builder
}

func newServer(t testing.TB, h door.Handler) server {
	t.Helper()
	log := &strings.Builder{}
	s := httptest.NewServer(door.Handle(door.Route{Path: "/route", Handler: h}, rules, journal(log)))
	t.Cleanup(s.Close)
	return server{s, log}
}
