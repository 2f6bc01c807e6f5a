package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestSurface(t *testing.T) {
	r := startRelay(t)
	for _, base := range []string{"", "/didcomm"} {
		for _, slash := range []string{"", "/"} {
			for path, want := range map[string]string{
				"/health":                  `{"ready":true}`,
				"/api/v1/capabilities":     `{"didcomm":true,"lightning":false,"names":false}`,
				"/api/v1/didcomm-endpoint": `{"endpoint":null}`,
			} {
				t.Run(base+path+slash, func(t *testing.T) {
					wantJSON(t, r.send(t, request{Method: http.MethodGet, Path: base + path + slash}), want)
				})
			}
			t.Run("a whole round under "+base+"…"+slash, func(t *testing.T) {
				wantRound(t, r, base, slash)
			})
		}
	}
}

// wantRound deposits, fetches and removes one message by way of the paths
// below base, each with slash at its end.
func wantRound(t *testing.T, r *relay, base, slash string) {
	t.Helper()
	w := newWallet(t)
	packed := envelope(600, "round", w)
	messages := base + "/api/v1/messages"

	var filed struct{ IDs []string }
	decode(t, r.post(t, messages+slash, "application/didcomm-encrypted+json", string(packed)), &filed)
	if len(filed.IDs) != 1 {
		t.Fatalf("filed under %q, want one id", filed.IDs)
	}
	proof := func(ids ...string) string {
		a := r.send(t, request{Method: http.MethodGet, Path: base + "/api/v1/challenge" + slash})
		var issued struct{ Challenge string }
		decode(t, a, &issued)
		return string(w.proof(issued.Challenge, ids...))
	}
	var fetched struct{ Messages []message }
	decode(t, r.post(t, messages+"/fetch"+slash, "application/json", proof()), &fetched)
	if len(fetched.Messages) != 1 || fetched.Messages[0].ID != filed.IDs[0] || fetched.Messages[0].Message != string(packed) {
		t.Errorf("fetched %+v, want %s with the envelope as it was", fetched.Messages, filed.IDs[0])
	}
	wantJSON(t, r.post(t, messages+"/remove"+slash, "application/json", proof(filed.IDs...)), `{"removed":1}`)
	wantJSON(t, r.post(t, messages+"/fetch"+slash, "application/json", proof()), `{"messages":[]}`)
}

// decode reads the JSON of a 200 into v.
func decode(t testing.TB, a answer, v any) {
	t.Helper()
	wantType(t, a, http.StatusOK)
	if err := json.Unmarshal(a.Body, v); err != nil {
		t.Fatalf("answer %q: %v", a.Body, err)
	}
}

func TestBasePathIsConfigurable(t *testing.T) {
	r := startRelay(t, "HOLDMAIL_BASE_PATH=/post/office")
	wantJSON(t, r.send(t, request{Method: http.MethodGet, Path: "/post/office/health"}), `{"ready":true}`)
	wantJSON(t, r.send(t, request{Method: http.MethodGet, Path: "/health"}), `{"ready":true}`)
	wantRefusal(t, r.send(t, request{Method: http.MethodGet, Path: "/didcomm/health"}), http.StatusNotFound)
}

func TestEndpointIsThePublicURL(t *testing.T) {
	r := startRelay(t, "HOLDMAIL_PUBLIC_URL=https://relay.example")
	a := r.send(t, request{Method: http.MethodGet, Path: "/api/v1/didcomm-endpoint"})
	wantJSON(t, a, `{"endpoint":"https://relay.example/didcomm"}`)
}

func TestChallengeIs32FreshBytes(t *testing.T) {
	r := startRelay(t)
	seen := make(map[string]bool)
	for range 20 {
		challenge, err := r.challenge()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.RawURLEncoding.DecodeString(challenge)
		if err != nil || len(raw) != 32 || seen[challenge] {
			t.Errorf("challenge %q (%v): want 32 fresh bytes in base64url", challenge, err)
		}
		seen[challenge] = true
	}
}

func TestHeadWorksWhereGetDoes(t *testing.T) {
	r := startRelay(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=1")
	for _, path := range []string{"/health", "/api/v1/challenge", "/api/v1/capabilities", "/api/v1/didcomm-endpoint"} {
		for range 3 { // more often than challenges may be issued
			a := r.send(t, request{Method: http.MethodHead, Path: path})
			wantType(t, a, http.StatusOK)
			if len(a.Body) != 0 {
				t.Errorf("HEAD %s has a body: %q", path, a.Body)
			}
		}
	}
	if _, err := r.challenge(); err != nil {
		t.Errorf("a challenge after many HEADs: %v", err)
	}
	a := r.send(t, request{Method: http.MethodHead, Path: "/api/v1/nothing"})
	if a.Status != http.StatusNotFound || len(a.Body) != 0 {
		t.Errorf("HEAD of nothing: %d with body %q, want 404 with none", a.Status, a.Body)
	}
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	r := startRelay(t)
	for _, path := range []string{
		"/", "/didcomm", "/didcomm/", "/didcomm/didcomm/health", "/api/v1", "/api/v1/nothing", "/api/v1/messages/x",
		"/api/v1/messages/fetch/x", "/api/v2/challenge", "/Health", "/metrics",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			t.Run(method+" "+path, func(t *testing.T) {
				wantRefusal(t, r.send(t, request{Method: method, Path: path}), http.StatusNotFound)
			})
		}
	}
}

func TestWrongMethodsAreTold(t *testing.T) {
	r := startRelay(t)
	for path, allowed := range map[string][]string{
		"/health":                  {"GET", "HEAD"},
		"/api/v1/challenge":        {"GET", "HEAD"},
		"/api/v1/capabilities":     {"GET", "HEAD"},
		"/api/v1/didcomm-endpoint": {"GET", "HEAD"},
		"/api/v1/messages":         {"POST"},
		"/api/v1/messages/fetch":   {"POST"},
		"/api/v1/messages/remove":  {"POST"},
		"/api/v1/deliver":          {"POST"},
		"/didcomm/api/v1/messages": {"POST"},
		"/api/v1/messages/":        {"POST"},
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH"} {
			if slices.Contains(allowed, method) {
				continue
			}
			t.Run(method+" "+path, func(t *testing.T) {
				a := r.send(t, request{Method: method, Path: path})
				wantRefusal(t, a, http.StatusMethodNotAllowed)
				told := strings.Split(strings.ReplaceAll(a.Header.Get("Allow"), " ", ""), ",")
				for _, want := range allowed {
					if !slices.Contains(told, want) {
						t.Errorf("Allow: %q lacks %s", a.Header.Get("Allow"), want)
					}
				}
				if slices.Contains(told, method) {
					t.Errorf("Allow: %q has %s, which was refused", a.Header.Get("Allow"), method)
				}
			})
		}
	}
}
