package appliance

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/door"
)

// echo answers with a word, so that a test sees who was asked.
func echo(word string) door.Handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, word)
		return err
	}
}

// surface is a small door behind everything that stands before it.
func surface(base string) http.Handler {
	calls := []door.Route{
		{Method: http.MethodGet, Path: "/health", Handler: echo("well")},
		{Method: http.MethodPost, Path: "/api/v1/messages", Handler: echo("kept")},
	}
	return allowOrigins(routes(base, door.NewJournal(slog.New(slog.DiscardHandler)), nil, table{routes: calls}))
}

func ask(h http.Handler, method, target, body string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody // as a server gives it
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestRoutes(t *testing.T) {
	const (
		noCall      = `{"error":"no such call"}`
		otherMethod = `{"error":"this call has another method"}`
	)
	for _, tt := range []struct {
		method, target, body string
		status               int
		want                 string // the answer
		allow, connection    string // headers
	}{
		{"GET", "/health", "", 200, "well", "", ""},
		{"GET", "/health/", "", 200, "well", "", ""},
		{"GET", "/health?x=/", "", 200, "well", "", ""},
		{"GET", "/health%2F", "", 200, "well", "", ""},
		{"GET", "/didcomm/health", "", 200, "well", "", ""},
		{"POST", "/didcomm/api/v1/messages/", "{}", 200, "kept", "", ""},
		{"GET", "/", "", 404, noCall, "", ""},
		{"GET", "/didcomm", "", 404, noCall, "", ""},
		{"GET", "/Health", "", 404, noCall, "", ""},
		{"GET", "/x/../health", "", 404, noCall, "", ""},
		{"POST", "/nothing", "{}", 404, noCall, "", "close"},
		{"GET", "/api/v1/messages", "", 405, otherMethod, "OPTIONS, POST", ""},
		{"PUT", "/api/v1/messages", "{}", 405, otherMethod, "OPTIONS, POST", "close"},
		{"OPTIONS", "/didcomm/health", "", 204, "", "GET, OPTIONS", ""},
		{"OPTIONS", "/health", "x", 204, "", "GET, OPTIONS", "close"},
		{"OPTIONS", "/nothing", "", 404, noCall, "", ""},
	} {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			got := ask(surface("/didcomm"), tt.method, tt.target, tt.body)
			body, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != tt.status || string(body) != tt.want {
				t.Errorf("%d %s (%v), want %d %s", got.StatusCode, body, err, tt.status, tt.want)
			}
			if a, c := got.Header.Get("Allow"), got.Header.Get("Connection"); a != tt.allow || c != tt.connection {
				t.Errorf("Allow %q, Connection %q; want %q, %q", a, c, tt.allow, tt.connection)
			}
			if tt.status >= 400 && got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type %q, want JSON", got.Header.Get("Content-Type"))
			}
			if got.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Error("no Access-Control-Allow-Origin")
			}
		})
	}
}

func TestWithoutABasePathTheCallsAreAtTheRootAlone(t *testing.T) {
	h := surface("")
	if got := ask(h, "GET", "/health", ""); got.StatusCode != 200 {
		t.Errorf("/health: %s", got.Status)
	}
	if got := ask(h, "GET", "/didcomm/health", ""); got.StatusCode != 404 {
		t.Errorf("/didcomm/health: %s", got.Status)
	}
}

func TestAPageOfAnyOriginMayCall(t *testing.T) {
	got := ask(surface(""), "GET", "/health", "", "Origin", "https://wallet.example")
	if o, e := got.Header.Get("Access-Control-Allow-Origin"), got.Header.Get("Access-Control-Expose-Headers"); o != "*" || e != "Retry-After" {
		t.Errorf("allowed origin %q, exposed headers %q; want *, Retry-After", o, e)
	}
}

func TestAPreflightIsAnsweredBeforeEverything(t *testing.T) {
	got := ask(surface(""), "OPTIONS", "/no/such/call", "",
		"Origin", "https://wallet.example",
		"Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "content-type,x-anything",
		"Access-Control-Request-Private-Network", "true")
	if got.StatusCode != http.StatusNoContent {
		t.Errorf("status %s, want 204", got.Status)
	}
	for header, want := range map[string]string{
		"Access-Control-Allow-Origin":          "*",
		"Access-Control-Allow-Methods":         "POST",
		"Access-Control-Allow-Headers":         "content-type,x-anything",
		"Access-Control-Allow-Private-Network": "true",
		"Access-Control-Max-Age":               "86400",
	} {
		if v := got.Header.Get(header); v != want {
			t.Errorf("%s: %q, want %q", header, v, want)
		}
	}
}
