package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/seal"
)

// homeRelay answers a home computer's calls with one status and no deliveries.
func homeRelay(t testing.TB, setup seal.Setup, status int, words string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !setup.Admits(token):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/relay/v1/next":
			fmt.Fprint(w, `{"deliveries":[]}`)
		default:
			w.WriteHeader(status)
			fmt.Fprint(w, words)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// atHome is a paired computer that serves one hook, whose pull said s last.
func atHome(t testing.TB, s *pull.Status) (homeFlags, seal.Key) {
	t.Helper()
	folder := t.TempDir()
	k, err := seal.NewKey(false)
	if err != nil {
		t.Fatal(err)
	}
	f := homeFlags{Key: filepath.Join(folder, "relay.json"), Hooks: filepath.Join(folder, "hooks"), State: folder}
	write := func(path string, value any) {
		b, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(f.Key, k)
	if s != nil {
		write(filepath.Join(folder, statusName), s)
	}
	if err := os.WriteFile(f.Hooks, []byte("app secret-id\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f, k
}

func well() pull.Status { return pull.Status{Said: time.Now(), LedgerMax: 100} }

func TestDoctorSaysWhatIsWrongWithTheRelay(t *testing.T) {
	for _, tt := range []struct {
		name         string
		status       int
		depth, bytes int64
		key, foreign bool
		want         string
	}{
		{name: "well", status: 200, depth: 79, bytes: 799},
		{name: "many deliveries", status: 200, depth: 80, want: "nearly full"},
		{name: "many bytes", status: 200, bytes: 800, want: "nearly full"},
		{name: "another's key", status: 200, key: true, want: "another computer's"},
		{name: "another's token", status: 200, foreign: true, want: "refuses this computer's token"},
		{name: "no door", status: 404, want: "no webhook door"},
		{name: "broken", status: 503, want: "answered 503"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := well()
			f, k := atHome(t, &s)
			setup, id := k.Setup(), k.Setup().KeyID()
			if tt.key {
				id = "0123456789abcdef"
			}
			if tt.foreign {
				other, err := seal.NewKey(false)
				if err != nil {
					t.Fatal(err)
				}
				setup = other.Setup()
			}
			f.Relay = homeRelay(t, setup, tt.status, fmt.Sprintf(`{"protocol":1,"keyId":%q,"depth":%d,"bytes":%d,"oldest":null,"max":100,"maxBytes":1000}`, id, tt.depth, tt.bytes))
			h, err := f.open()
			if err != nil {
				t.Fatal(err)
			}
			said, err := lookAtRelay(t.Context(), h)
			wants(t, said, err, tt.want)
			if got := (doctor{homeFlags: f}).Run(t.Context()); (got != nil) != (tt.want != "") {
				t.Errorf("doctor ends with %v, want an error: %v", got, tt.want != "")
			}
		})
	}
}

func TestDoctorSaysThatTheRelayIsOutOfReach(t *testing.T) {
	f, k := atHome(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close()
	r, err := pull.NewRelay(gone.URL, k.Token(), "")
	if err != nil {
		t.Fatal(err)
	}
	said, err := lookAtRelay(t.Context(), home{key: k, relay: r, state: f.State})
	wants(t, said, err, "out of reach")
}

func TestDoctorSaysWhatIsWrongWithPull(t *testing.T) {
	now := time.Now()
	for want, change := range map[string]func(*pull.Status){
		"":                         func(*pull.Status) {},
		"it does not run":          func(s *pull.Status) { s.Said = now.Add(-11 * time.Minute) },
		"the ledger is full":       func(s *pull.Status) { s.Trouble = "the ledger is full" },
		"the handler is not there": func(s *pull.Status) { s.Handler = "the handler is not there" },
		"3 deliveries are refused for their time, by 12h0m0s": func(s *pull.Status) { s.RefusedForTime, s.TimeOff = 3, "12h0m0s" },
		"ledger is nearly full":                               func(s *pull.Status) { s.LedgerBytes = 80 },
	} {
		s := well()
		change(&s)
		f, _ := atHome(t, &s)
		said, err := lookAtPull(f.State, now)
		wants(t, said, err, want)
	}
	f, _ := atHome(t, nil)
	said, err := lookAtPull(f.State, now)
	wants(t, said, err, "has not run here")
}

func TestDoctorSaysWhetherTheProgramIsThere(t *testing.T) {
	there := httptest.NewServer(http.NotFoundHandler())
	said, err := lookAtProgram(t.Context(), there.URL+"/{hook}")
	wants(t, said, err, "")
	there.Close()
	said, err = lookAtProgram(t.Context(), there.URL+"/{hook}")
	wants(t, said, err, "nobody listens")
	said, err = lookAtProgram(t.Context(), "here")
	wants(t, said, err, "--to: want an http or https URL")
}

// wants fails unless what is wrong is this; "" is nothing.
func wants(t testing.TB, said string, err error, wrong string) {
	t.Helper()
	switch {
	case wrong == "" && (err != nil || said == ""):
		t.Errorf("said %q, %v; want that all is well", said, err)
	case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
		t.Errorf("said %q, %v; want %q", said, err, wrong)
	}
}

// The whole command, against a relay that has one delivery.
func TestPullOnce(t *testing.T) {
	f, k := atHome(t, nil)
	received := time.Now().Truncate(time.Millisecond)
	plaintext := delivery.Request{Method: "POST", URL: "https://relay.example/hooks/secret-id", Body: []byte("hi")}.AppendJSON(nil)
	sealed, err := k.Setup().Seal("d1", received, plaintext)
	if err != nil {
		t.Fatal(err)
	}
	waiting, acked := 1, ""
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/relay/v1/status":
			fmt.Fprintf(w, `{"keyId":%q}`, k.Setup().KeyID())
		case "/relay/v1/next":
			items := []map[string]any{{"id": "d1", "receivedAt": received.UnixMilli(), "sealed": sealed,
				"hook": "2d4e223a1833d38ff89ba7abbfbd41df79b1680333e31d4e04618bcfa10059dd"}} // printf secret-id | sha256sum
			json.NewEncoder(w).Encode(map[string]any{"deliveries": items[:waiting]})
			waiting = 0
		case "/relay/v1/ack":
			var body struct{ IDs []string }
			json.NewDecoder(r.Body).Decode(&body)
			acked += strings.Join(body.IDs, " ")
		}
	}))
	defer relay.Close()
	got := ""
	program := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got += r.URL.Path + " " + strconv.FormatInt(r.ContentLength, 10) + " " + r.Header.Get(pull.HeaderID)
	}))
	defer program.Close()

	f.Relay, f.State = relay.URL, filepath.Join(f.State, "new", "state")
	c := pullCommand{homeFlags: f, To: program.URL + "/in/{hook}", Timeout: time.Second, LedgerMax: 1 << 20, Once: true}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got != "/in/app 2 d1" || acked != "d1" {
		t.Errorf("the program got %q, and %q is acknowledged; want /in/app 2 d1, and d1", got, acked)
	}
	if s, err := readStatus(f.State); err != nil || s == nil || s.Trouble != "" {
		t.Errorf("status %+v, %v; want one without trouble", s, err)
	}
}
