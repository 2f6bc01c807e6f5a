package e2e

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

const webWallet = "https://wallet.example"

func TestEveryAnswerIsReadableFromAnyOrigin(t *testing.T) {
	r := startRelay(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=1", "ARCHON_DIDCOMM_UPLOAD_LIMIT=1kb")
	w := newWallet(t)
	if _, err := r.challenge(); err != nil { // the only one
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status int
		request
	}{
		{200, request{Method: "GET", Path: "/health"}},
		{200, request{Method: "POST", Path: "/didcomm/api/v1/messages", Body: string(envelope(600, "cors", w))}},
		{400, request{Method: "POST", Path: "/api/v1/messages", Body: "{}"}},
		{400, request{Method: "POST", Path: "/api/v1/messages/fetch", Body: "{}"}},
		{401, request{Method: "POST", Path: "/api/v1/messages/fetch", Body: string(w.proof("unknown"))}},
		{404, request{Method: "GET", Path: "/nothing"}},
		{405, request{Method: "POST", Path: "/health"}},
		{405, request{Method: "PUT", Path: "/health"}},
		{413, request{Method: "POST", Path: "/api/v1/messages", Body: strings.Repeat("x", 2<<10)}},
		{415, request{Method: "POST", Path: "/api/v1/messages", Header: header("Content-Encoding", "br"), Body: "{}"}},
		{429, request{Method: "GET", Path: "/api/v1/challenge"}},
	} {
		for _, origin := range []string{webWallet, "null", ""} {
			q := tt.request
			q.Header = header("Origin", origin)
			maps.Copy(q.Header, tt.Header)
			a := r.send(t, q)
			if a.Status != tt.status {
				t.Errorf("%s %s: status %d %s, want %d", q.Method, q.Path, a.Status, a.Body, tt.status)
			}
			if got := a.Header.Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("%s %s from %q: %d allows origin %q, want *", q.Method, q.Path, origin, a.Status, got)
			}
			exposed := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers"))
			if !strings.Contains(exposed, "retry-after") {
				t.Errorf("%s %s from %q: %d exposes %q, want Retry-After", q.Method, q.Path, origin, a.Status, exposed)
			}
		}
	}
}

func TestPreflight(t *testing.T) {
	r := startRelay(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=1")
	for path, method := range map[string]string{
		"/health":                         "GET",
		"/api/v1/challenge":               "GET",
		"/api/v1/capabilities":            "GET",
		"/api/v1/didcomm-endpoint":        "GET",
		"/api/v1/messages":                "POST",
		"/api/v1/messages/fetch":          "POST",
		"/api/v1/messages/remove":         "POST",
		"/didcomm/api/v1/messages/remove": "POST",
		"/didcomm/api/v1/messages/fetch/": "POST",
	} {
		t.Run(path, func(t *testing.T) {
			a := r.send(t, request{Method: http.MethodOptions, Path: path, Header: map[string]string{
				"Origin":                                 webWallet,
				"Access-Control-Request-Method":          method,
				"Access-Control-Request-Headers":         "content-type,x-anything-at-all",
				"Access-Control-Request-Private-Network": "true",
				"Content-Type":                           "image/png", // of no interest
			}})
			if a.Status/100 != 2 {
				t.Fatalf("status %d %s, want a 2xx", a.Status, a.Body)
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin":          "*",
				"Access-Control-Allow-Methods":         method,
				"Access-Control-Allow-Private-Network": "true",
			} {
				if got := a.Header.Get(name); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			allowed := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
			if allowed != "*" && !(strings.Contains(allowed, "content-type") && strings.Contains(allowed, "x-anything-at-all")) {
				t.Errorf("Access-Control-Allow-Headers: %q, want any that was asked for", allowed)
			}
			if got := a.Header.Get("Access-Control-Allow-Credentials"); got != "" {
				t.Errorf("Access-Control-Allow-Credentials: %q, want none", got)
			}
		})
	}
	if _, err := r.challenge(); err != nil {
		t.Errorf("a challenge after the preflights: %v", err)
	}
}
