package appliance

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/ratelimit"
)

// Whoever adds a door says what its calls cost, or this fails.
func TestEveryCallHasAClass(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	setup := newKey(t).Setup()
	c.Hooks.Setup = &setup
	a, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	doors, err := a.doors(newLimit(c))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, d := range doors {
		for _, route := range d.routes {
			calls++
			want := ratelimit.Read
			switch {
			case route.Path == "/health":
				want = door.Free
			case strings.HasPrefix(route.Path, "/hooks/") || strings.HasPrefix(route.Path, "/relay/"):
				want = door.Self
			case route.Method == http.MethodPost && (strings.HasSuffix(route.Path, "/messages") || strings.HasSuffix(route.Path, "/deliver")):
				want = ratelimit.Deposit
			}
			if route.Class != want {
				t.Errorf("%s %s: class %q, want %q", route.Method, route.Path, route.Class, want)
			}
		}
	}
	if calls < 17 {
		t.Errorf("%d calls: are these all?", calls)
	}
}

// toll is a small door whose deposits cost ten bytes for each of theirs.
type toll struct {
	http.Handler
	limit *limit
}

func newToll(read, deposit ratelimit.Budget) toll {
	l := &limit{
		budgets: ratelimit.New(ratelimit.Options{MaxSources: 100, Budgets: map[ratelimit.Class]ratelimit.Budget{
			ratelimit.Read: read, ratelimit.Deposit: deposit,
		}}),
		upload: 100,
	}
	keep := func(w http.ResponseWriter, r *http.Request) error {
		body, err := door.Body(r, l.upload)
		if err != nil {
			return err
		}
		if err := l.rest(r.Context(), 10*int64(len(body))); err != nil {
			return err
		}
		return echo("kept")(w, r)
	}
	calls := []door.Route{
		{Method: http.MethodGet, Path: "/health", Class: door.Free, Handler: echo("well")},
		{Method: http.MethodGet, Path: "/read", Class: ratelimit.Read, Handler: echo("read")},
		{Method: http.MethodPost, Path: "/messages", Class: ratelimit.Deposit, Handler: keep},
	}
	log := slog.New(slog.DiscardHandler)
	answers := routes("", door.NewJournal(log), l, table{routes: calls})
	return toll{allowOrigins(source.Identify(answers, &source.Rules{Log: log, IPv6Bits: 64})), l}
}

// ask makes a call from an address; length is what a body declares, -1 for
// nothing, and else its own.
func (d toll) ask(from, method, path, body string, length int64) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = from + ":4000"
	r.ContentLength = length
	if body == "" {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

func (d toll) deposit(from string, size int) int {
	return d.ask(from, http.MethodPost, "/messages", strings.Repeat("x", size), int64(size)).StatusCode
}

func minutely(perSource, global int64) ratelimit.Budget {
	return ratelimit.Budget{PerSource: perSource, Global: global, Window: time.Minute}
}

const (
	annsHome = "203.0.113.1"
	bobsHome = "203.0.113.2"
)

func TestOverABudgetACallerIsToldWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newToll(minutely(6, 100), minutely(1000, 1000))
		for range 6 {
			if got := d.ask(annsHome, http.MethodGet, "/read", "", 0); got.StatusCode != http.StatusOK {
				t.Fatalf("within the budget: %s", got.Status)
			}
		}
		no := d.ask(annsHome, http.MethodGet, "/read", "", 0)
		var said struct {
			Error   string
			ResetAt int64
		}
		if err := json.NewDecoder(no.Body).Decode(&said); err != nil {
			t.Fatal(err)
		}
		after, err := strconv.Atoi(no.Header.Get("Retry-After"))
		wait := time.Duration(after) * time.Second
		if err != nil || no.StatusCode != http.StatusTooManyRequests || wait != 10*time.Second ||
			said.Error != "Rate limit exceeded" || said.ResetAt != time.Now().Add(wait).Unix() {
			t.Errorf("%s, Retry-After %q, %+v", no.Status, no.Header.Get("Retry-After"), said)
		}
		if no.Header.Get("Access-Control-Allow-Origin") != "*" || no.Header.Get("Access-Control-Expose-Headers") != "Retry-After" {
			t.Error("a page cannot read the refusal")
		}
		for _, free := range [][2]string{{http.MethodGet, "/health"}, {http.MethodOptions, "/read"}, {http.MethodOptions, "/nothing"}} {
			if got := d.ask(annsHome, free[0], free[1], "", 0).StatusCode; got == http.StatusTooManyRequests {
				t.Errorf("%s %s is not free", free[0], free[1])
			}
		}
		for _, paid := range [][2]string{{http.MethodGet, "/nothing"}, {http.MethodPut, "/read"}} {
			got := d.ask(annsHome, paid[0], paid[1], "x", 1)
			if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Connection") != "close" {
				t.Errorf("%s %s: %s, Connection %q; want 429, close", paid[0], paid[1], got.Status, got.Header.Get("Connection"))
			}
		}
		if got := d.ask(bobsHome, http.MethodGet, "/read", "", 0); got.StatusCode != http.StatusOK {
			t.Errorf("another source: %s", got.Status)
		}
		time.Sleep(wait)
		if got := d.ask(annsHome, http.MethodGet, "/read", "", 0); got.StatusCode != http.StatusOK {
			t.Errorf("after the wait: %s", got.Status)
		}
	})
}

func TestADepositPaysItsLengthThenTheRest(t *testing.T) {
	for _, tt := range []struct {
		name    string
		body    string
		length  int64
		status  int
		charged int64
	}{
		{"kept", "12345", 5, 200, 50},
		{"no length", "12345", -1, 200, 100},
		{"over the upload limit, and so unread", strings.Repeat("x", 101), 101, 413, 0},
		{"a length beyond all budgets", "x", 1 << 40, 413, 0},
		{"not to its end", "12345", 7, 400, 7},
		{"not text", "\xff", 1, 400, 1},
		{"above what is left, and so given back", strings.Repeat("x", 60), 60, 429, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newToll(minutely(100, 100), minutely(1000, 1000))
				d.deposit(bobsHome, 50) // half of what all may deposit
				var body io.Reader = strings.NewReader(tt.body)
				if tt.status == http.StatusBadRequest && tt.length > int64(len(tt.body)) {
					body = io.MultiReader(body, broken{})
				}
				r := httptest.NewRequest(http.MethodPost, "/messages", body)
				r.RemoteAddr, r.ContentLength = annsHome+":4000", tt.length
				w := httptest.NewRecorder()
				d.ServeHTTP(w, r)
				if w.Code != tt.status {
					t.Errorf("%d %s, want %d", w.Code, w.Body, tt.status)
				}
				left := ratelimit.Source{}
				if _, err := d.limit.budgets.Take(ratelimit.Deposit, left, 500-tt.charged+1); err == nil {
					t.Errorf("all together have more than %d left: too little was charged", 500-tt.charged)
				}
				if _, err := d.limit.budgets.Take(ratelimit.Deposit, left, 500-tt.charged); err != nil {
					t.Errorf("all together have less than %d left: too much was charged", 500-tt.charged)
				}
			})
		})
	}
}

// broken is a connection that ends amid a body.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestThoseWhomNoAddressIdentifiesShareTheGlobalBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newToll(minutely(2, 5), minutely(1, 1))
		for i := range 5 {
			if got := d.ask("192.168.1.1", http.MethodGet, "/read", "", 0); got.StatusCode != http.StatusOK {
				t.Fatalf("call %d: %s", i, got.Status)
			}
		}
		for _, from := range []string{"192.168.1.1", "127.0.0.1", annsHome} {
			if got := d.ask(from, http.MethodGet, "/read", "", 0); got.StatusCode != http.StatusTooManyRequests {
				t.Errorf("%s, when all is spent: %s", from, got.Status)
			}
		}
	})
}

func TestBudgetsThatAreOff(t *testing.T) {
	c := testConfig(t)
	c.Engine, c.RateLimit = "memory", false
	c.ReadGlobal, c.DepositGlobal = 1, 1
	url, stop := start(t, c, nil)
	defer stop()
	for range 20 {
		answer, err := http.Get(url + "/api/v1/challenge")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("challenge: %s", answer.Status)
		}
	}
}
