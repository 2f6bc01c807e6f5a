package didcomm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/didcomm"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

var (
	_ didcomm.Mailbox = (*mailbox.Service)(nil)
	_ didcomm.Gate    = (*auth.Gate)(nil)
)

const (
	uploadLimit = 100_000
	ann         = "did:cid:ann"
	id1         = "11111111-1111-4111-8111-111111111111"
	id2         = "22222222-2222-4222-8222-222222222222"

	envelope = `{"protected":"e30","ciphertext":"AA","recipients":[{"header":{"kid":"did:cid:ann#k1"}}]}`
)

// mail is a mailbox's store that is a list.
type mail struct {
	packed   []string // as they were deposited
	waiting  []storage.Message
	err      error // of every call; of a listing, after what is waiting
	removals []string
}

func (m *mail) Add(_ context.Context, e storage.Envelope) ([]string, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.packed = append(m.packed, string(e.Body))
	return []string{id1, id2}[:len(e.Recipients)], nil
}

func (m *mail) List(_ context.Context, recipient, after string) iter.Seq2[storage.Message, error] {
	return func(yield func(storage.Message, error) bool) {
		if recipient != ann {
			return
		}
		at := slices.IndexFunc(m.waiting, func(msg storage.Message) bool { return msg.ID == after })
		if at < 0 && after != "" {
			yield(storage.Message{}, fmt.Errorf("listing: %w", storage.ErrNotID))
			return
		}
		for _, msg := range m.waiting[at+1:] {
			if !yield(msg, nil) {
				return
			}
		}
		if m.err != nil {
			yield(storage.Message{}, m.err)
		}
	}
}

func (m *mail) Remove(_ context.Context, recipient string, ids []string) (int, error) {
	m.removals = append(m.removals, recipient+": "+strings.Join(ids, " "))
	return len(ids), m.err
}

func (m *mail) Ready(context.Context) error { return m.err }

// gate knows one live challenge, "live", and one signature of ann's, "ann".
type gate struct {
	issued  int
	holders []storage.Holder // of the last challenge
	spent   []auth.Proof
	err     error // of Challenge and Spend
	nextErr error // of NextChallenge
}

func (g *gate) Challenge(_ context.Context, holders ...storage.Holder) (string, error) {
	g.issued++
	g.holders = holders
	return fmt.Sprintf("challenge-%d", g.issued), g.err
}

func (g *gate) BoundChallenge(_ context.Context, to did.ID, holders ...storage.Holder) (string, error) {
	g.issued++
	g.holders = holders
	return fmt.Sprintf("challenge-%d-for-%s", g.issued, to), g.err
}

func (g *gate) NextChallenge(_ context.Context, _ auth.Spent, owner did.ID, holders ...storage.Holder) (string, error) {
	g.issued++
	g.holders = holders
	return fmt.Sprintf("next-%d", g.issued), g.nextErr
}

func (g *gate) Spend(_ context.Context, p auth.Proof) (auth.Spent, error) {
	g.spent = append(g.spent, p)
	return auth.Spent{}, g.err
}

func (g *gate) Verify(context.Context, auth.Spent) (did.ID, error) {
	p := g.spent[len(g.spent)-1]
	id, err := did.Parse(p.DID)
	switch {
	case err != nil:
		return "", err
	case p.Challenge != "live":
		return "", auth.ErrChallenge
	case p.DID == "did:cid:away":
		return "", fmt.Errorf("%w: connection refused", resolve.ErrUnreachable)
	case p.Audience != "" && p.Audience != "https://relay.example/didcomm":
		return "", auth.ErrAudience
	case p.Signature != "ann":
		return "", auth.ErrSignature
	}
	return id, nil
}

// relay is the door on a mux, with what is behind it.
type relay struct {
	mail *mail
	gate *gate
	door *didcomm.Door
	http.Handler
}

func newRelay(endpoint string) relay {
	r := relay{mail: &mail{}, gate: &gate{}}
	r.door = &didcomm.Door{
		Mailbox:     &mailbox.Service{Store: r.mail, MaxRecipients: 3, Waiters: mailbox.NewWaiters(3)},
		Gate:        r.gate,
		UploadLimit: uploadLimit,
		Endpoint:    endpoint,
	}
	mux := http.NewServeMux()
	journal := door.NewJournal(slog.New(slog.DiscardHandler))
	for _, route := range r.door.Routes() {
		mux.Handle(route.Method+" "+route.Path, door.Handle(route, r.door.Rules(), journal))
	}
	r.Handler = mux
	return r
}

// ask makes a call and returns the answer and its body.
func (r relay) ask(t testing.TB, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(answer)
}

// check fails unless an answer is JSON of this status and body.
func check(t testing.TB, res *http.Response, got string, status int, want string) {
	t.Helper()
	if res.StatusCode != status || got != want {
		t.Errorf("answer = %d %s, want %d %s", res.StatusCode, got, status, want)
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type = %q", kind)
	}
}

// claim is the body of an owner's call, with more members behind the proof's.
func claim(did, challenge, signature, more string) string {
	return fmt.Sprintf(`{"did":%q,"challenge":%q,"signature":%q%s}`, did, challenge, signature, more)
}

func TestHealth(t *testing.T) {
	r := newRelay("")
	res, body := r.ask(t, "GET", "/health", "")
	check(t, res, body, 200, `{"ready":true}`)
	for err, reason := range map[error]string{
		fmt.Errorf("statfs /secret: %w", storage.ErrNoRoom): "no room on the disk",
		storage.ErrClosed:               "storage is closed",
		storage.ErrBroken:               "storage is read-only after a failed write",
		errors.New("open /secret: EIO"): "storage is not ready",
	} {
		r.mail.err = err
		res, body := r.ask(t, "GET", "/health", "")
		check(t, res, body, 503, fmt.Sprintf(`{"ready":false,"reason":%q}`, reason))
	}
}

func TestCapabilities(t *testing.T) {
	res, body := newRelay("").ask(t, "GET", "/api/v1/capabilities", "")
	check(t, res, body, 200, `{"didcomm":true,"lightning":false,"names":false}`)
}

func TestEndpoint(t *testing.T) {
	res, body := newRelay("https://relay.example/didcomm").ask(t, "GET", "/api/v1/didcomm-endpoint", "")
	check(t, res, body, 200, `{"endpoint":"https://relay.example/didcomm"}`)
	res, body = newRelay("").ask(t, "GET", "/api/v1/didcomm-endpoint", "")
	check(t, res, body, 200, `{"endpoint":null}`)
}

func TestChallenge(t *testing.T) {
	r := newRelay("")
	res, body := r.ask(t, "GET", "/api/v1/challenge", "")
	check(t, res, body, 200, `{"challenge":"challenge-1"}`)
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	r.gate.err = fmt.Errorf("issuing: %w", storage.ErrTooManyChallenges)
	res, body = r.ask(t, "GET", "/api/v1/challenge", "")
	check(t, res, body, 429, `{"error":"too many live challenges"}`)
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestAChallengeCountsToWhoeverAsks(t *testing.T) {
	r := newRelay("")
	r.ask(t, "GET", "/api/v1/challenge", "")
	if r.gate.holders != nil {
		t.Errorf("holders = %v, want none", r.gate.holders)
	}
	want := storage.Holder{Name: "ann", Most: 3}
	r.door.Holders = func(*http.Request) []storage.Holder { return []storage.Holder{want} }
	r.ask(t, "GET", "/api/v1/challenge", "")
	if len(r.gate.holders) != 1 || r.gate.holders[0] != want {
		t.Errorf("holders = %v, want %v", r.gate.holders, want)
	}
}

func TestHeadWorksWhereGetDoesAndIssuesNothing(t *testing.T) {
	r := newRelay("")
	for _, path := range []string{"/health", "/api/v1/challenge", "/api/v1/capabilities", "/api/v1/didcomm-endpoint"} {
		res, body := r.ask(t, "HEAD", path, "")
		check(t, res, body, 200, "")
	}
	if r.gate.issued != 0 {
		t.Errorf("%d challenges were issued", r.gate.issued)
	}
}

func TestRoutesAreOfTheTable(t *testing.T) {
	got := []string{}
	for _, route := range (&didcomm.Door{}).Routes() {
		got = append(got, route.Method+" "+route.Path)
	}
	slices.Sort(got)
	want := []string{
		"GET /api/v1/capabilities", "GET /api/v1/challenge", "GET /api/v1/didcomm-endpoint", "GET /health",
		"HEAD /api/v1/capabilities", "HEAD /api/v1/challenge", "HEAD /api/v1/didcomm-endpoint", "HEAD /health",
		"POST /api/v1/deliver", "POST /api/v1/messages", "POST /api/v1/messages/fetch", "POST /api/v1/messages/remove",
	}
	if !slices.Equal(got, want) {
		t.Errorf("routes = %q", got)
	}
}

func TestStorageErrorsAreAnswered(t *testing.T) {
	calls := map[string]string{
		"/api/v1/messages":        envelope,
		"/api/v1/messages/fetch":  claim(ann, "live", "ann", ""),
		"/api/v1/messages/remove": claim(ann, "live", "ann", `,"ids":["`+id1+`"]`),
	}
	for _, tt := range []struct {
		err    error
		status int
		answer string
		retry  string
	}{
		{storage.ErrFull, 429, "mailbox full", "60"},
		{storage.ErrNoRoom, 503, "no room on the disk", "60"},
		{storage.ErrBroken, 503, "storage is read-only after a failed write", "60"},
		{storage.ErrClosed, 503, "storage is closed", "10"},
		{errors.New("/secret: EIO"), 500, "internal error", ""},
	} {
		for path, body := range calls {
			t.Run(tt.answer+path, func(t *testing.T) {
				r := newRelay("")
				r.mail.err = fmt.Errorf("of did:cid:ann: %w", tt.err)
				res, got := r.ask(t, "POST", path, body)
				check(t, res, got, tt.status, fmt.Sprintf(`{"error":%q}`, tt.answer))
				if got := res.Header.Get("Retry-After"); got != tt.retry {
					t.Errorf("Retry-After = %q, want %q", got, tt.retry)
				}
			})
		}
	}
}

func message(id, body string) storage.Message {
	at := time.Date(2026, 1, 2, 4, 4, 5, 678_999_999, time.FixedZone("CET", 3600))
	return storage.Message{ID: id, Received: at, Size: int64(len(body)), Body: strings.NewReader(body)}
}
