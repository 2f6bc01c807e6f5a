package pull_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/pull/ledger"
	"github.com/holdmail/holdmail/appliance/seal"
)

// relay is a scripted one: it hands out what a test put there until it is
// acknowledged, each at most once until the test asks for it again.
type relay struct {
	setup seal.Setup
	url   string

	mu       sync.Mutex // guards the rest
	kept     []item
	out      map[string]bool // leased
	acked    []string
	answers  map[string]delivery.Response
	hooks    []string
	deadline map[string]float64
	renewed  []string
	puts     int
	nexts    int // calls, renewals not counted
	down     bool
	full     bool          // its disk: it learns no hooks
	refused  int           // calls while down
	longest  int           // bytes of an acknowledgement
	clock    time.Time     // that it shows
	hint     chan struct{} // something was put, or acknowledged
}

type item struct {
	ID         string `json:"id"`
	Hook       string `json:"hook"`
	ReceivedAt int64  `json:"receivedAt"`
	Sealed     []byte `json:"sealed"`
	Live       bool   `json:"live"`
	Attempt    int    `json:"attempt"`
}

func newRelay(t testing.TB, setup seal.Setup) *relay {
	r := &relay{setup: setup, out: map[string]bool{}, answers: map[string]delivery.Response{}, hint: make(chan struct{}, 1),
		clock: time.UnixMilli(1760000000000).AddDate(10, 0, 0)}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.Header().Set("Date", r.clock.UTC().Format(http.TimeFormat))
	switch {
	case r.down:
		r.refused++
		http.Error(w, "down", http.StatusServiceUnavailable)
	case !r.setup.Admits(strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")):
		http.Error(w, "who?", http.StatusUnauthorized)
	case q.Method == "GET" && q.URL.Path == "/relay/v1/status":
		fmt.Fprintf(w, `{"protocol":1,"keyId":%q,"depth":%d,"bytes":0,"oldest":null}`, r.setup.KeyID(), len(r.kept))
	case q.Method == "PUT" && q.URL.Path == "/relay/v1/hooks":
		r.register(w, q)
	case q.Method == "GET" && q.URL.Path == "/relay/v1/next":
		r.next(w, q)
	case q.Method == "POST" && q.URL.Path == "/relay/v1/ack":
		r.ack(w, q)
	default:
		http.NotFound(w, q)
	}
}

func (r *relay) register(w http.ResponseWriter, q *http.Request) {
	var body struct {
		Hooks     []string
		Deadlines map[string]float64
	}
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.full {
		http.Error(w, "no room", http.StatusServiceUnavailable)
		return
	}
	r.hooks, r.deadline = body.Hooks, body.Deadlines
	r.puts++
	w.WriteHeader(http.StatusNoContent)
}

// next does not wait for deliveries longer than 20 milliseconds.
func (r *relay) next(w http.ResponseWriter, q *http.Request) {
	if held := q.FormValue("holding"); held != "" {
		r.renewed = append(r.renewed, strings.Split(held, ",")...)
	}
	if q.FormValue("max") != "0" {
		r.nexts++
	}
	most, err := strconv.Atoi(q.FormValue("max"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	batch := r.lease(most)
	if len(batch) == 0 && q.FormValue("wait") != "0" {
		r.mu.Unlock()
		select {
		case <-r.hint:
		case <-q.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
		r.mu.Lock()
		batch = r.lease(most)
	}
	json.NewEncoder(w).Encode(map[string]any{"deliveries": batch})
}

func (r *relay) lease(most int) []item {
	batch := []item{}
	for _, k := range r.kept {
		if len(batch) < most && !r.out[k.ID] {
			r.out[k.ID] = true
			batch = append(batch, k)
		}
	}
	return batch
}

func (r *relay) ack(w http.ResponseWriter, q *http.Request) {
	r.longest = max(r.longest, int(q.ContentLength))
	var body struct {
		IDs     []string
		Answers map[string]delivery.Response
	}
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, id := range body.IDs {
		r.kept = slices.DeleteFunc(r.kept, func(k item) bool { return k.ID == id })
		r.acked = append(r.acked, id)
	}
	for id, a := range body.Answers {
		r.answers[id] = a
	}
	io.WriteString(w, `{"acked":1}`)
}

func (r *relay) put(items ...item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, items...)
	select {
	case r.hint <- struct{}{}:
	default:
	}
}

// expire lets all leases run out.
func (r *relay) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.out)
}

func (r *relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// look reads what the relay saw.
func look[T any](r *relay, read func() T) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return read()
}

func (r *relay) ackedIDs() []string { return look(r, func() []string { return slices.Clone(r.acked) }) }

// handler is a scripted one: status is what it answers, unless it is not there.
type handler struct {
	mu     sync.Mutex // guards the rest
	got    []pull.Delivery
	answer func(d pull.Delivery) (delivery.Response, error) // nil is 200
}

func (h *handler) Deliver(_ context.Context, d pull.Delivery) (delivery.Response, error) {
	h.mu.Lock()
	h.got = append(h.got, d)
	answer := h.answer
	h.mu.Unlock()
	if answer == nil {
		return delivery.Response{Status: 200}, nil
	}
	return answer(d)
}

func (h *handler) ids() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.got {
		ids = append(ids, d.ID)
	}
	return ids
}

// home is a home computer with a relay, at a time that the test sets.
type home struct {
	testing.TB
	key     seal.Key
	relay   *relay
	handler *handler
	ledger  string
	now     time.Time
	hooks   []pull.Hook
	room    int64
	last    pull.Status
}

func newHome(t testing.TB) *home {
	t.Helper()
	k, err := seal.NewKey(false)
	if err != nil {
		t.Fatal(err)
	}
	return &home{
		TB: t, key: k, relay: newRelay(t, k.Setup()), handler: &handler{},
		ledger: filepath.Join(t.TempDir(), "ledger.db"),
		now:    time.UnixMilli(1760000000000).UTC(),
		hooks:  []pull.Hook{{ID: "secret-id", Name: "app"}},
		room:   1 << 20,
	}
}

func hookHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func post(body string, headers ...[2]string) delivery.Request {
	return delivery.Request{Method: "POST", URL: "https://relay.example/hooks/secret-id?a=%2f", Headers: headers, Body: []byte(body)}
}

// sealed is a request as the relay keeps it.
func (h *home) sealed(id string, received time.Time, r delivery.Request) item {
	h.Helper()
	b, err := h.key.Setup().Seal(id, received, r.AppendJSON(nil))
	if err != nil {
		h.Fatal(err)
	}
	return item{ID: id, Hook: hookHash("secret-id"), ReceivedAt: received.UnixMilli(), Sealed: b, Attempt: 1}
}

// open is a pull of this computer; the test closes its ledger by ending.
func (h *home) open(handler pull.Handler) (*pull.Pull, *ledger.Ledger) {
	h.Helper()
	l, err := ledger.Open(h.ledger, h.room)
	if err != nil {
		h.Fatal(err)
	}
	r, err := pull.NewRelay(h.relay.url, h.key.Token(), "")
	if err != nil {
		h.Fatal(err)
	}
	p := pull.New(r, h.key, handler, l, slog.New(slog.DiscardHandler))
	p.Hooks = func() ([]pull.Hook, error) { return h.hooks, nil }
	p.Now = func() time.Time { return h.now }
	p.Tell = func(s pull.Status) { h.last = s }
	p.Hurry()
	return p, l
}

// drain runs pull until nothing waits, as after a restart.
func (h *home) drain() error {
	h.Helper()
	h.relay.expire()
	p, l := h.open(h.handler)
	defer l.Close()
	p.Once = true
	return p.Run(h.Context())
}

func (h *home) mustDrain() {
	h.Helper()
	if err := h.drain(); err != nil {
		h.Fatal(err)
	}
}

// wants fails unless the handler got these ids, and the relay was told that those
// are done.
func (h *home) wants(got, acked string) {
	h.Helper()
	if ids := strings.Join(h.handler.ids(), " "); ids != got {
		h.Errorf("the handler got %q, want %q", ids, got)
	}
	ids := h.relay.ackedIDs()
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(a, b) })
	if ids := strings.Join(ids, " "); ids != acked {
		h.Errorf("acknowledged %q, want %q", ids, acked)
	}
}

// eventually polls until ok, or fails after ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
