package pickup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/identity"
	"github.com/holdmail/holdmail/appliance/pickup"
)

// relay is a relay that says what a test has it say.
type relay struct {
	answer string // to a fetch
	cut    bool   // breaks off after that
	hang   bool   // says nothing after that until the caller leaves
	deaf   bool   // to acknowledgements

	fetched string   // the body of the last fetch
	removed []string // the ids of all removes
	shelf   *shelf   // what must be safe when a remove comes
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	switch {
	case strings.HasSuffix(req.URL.Path, "/challenge"):
		io.WriteString(w, `{"challenge":"`+strings.Repeat("c", 43)+`"}`)
	case strings.HasSuffix(req.URL.Path, "/fetch"):
		r.fetched = string(body)
		io.WriteString(w, r.answer)
		http.NewResponseController(w).Flush()
		if r.hang {
			<-req.Context().Done()
		}
		if r.cut {
			panic(http.ErrAbortHandler)
		}
	case r.deaf:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		var named struct{ IDs []string }
		json.Unmarshal(body, &named)
		for _, id := range named.IDs {
			if !r.shelf.safe[id] {
				w.WriteHeader(http.StatusTeapot) // acknowledged too early
				return
			}
		}
		r.removed = append(r.removed, named.IDs...)
		fmt.Fprintf(w, `{"removed":%d}`, len(named.IDs))
	}
}

// shelf is a safe place that fails as a test wants it to.
type shelf struct {
	noSync error
	noKeep map[string]error
	onKeep func()
	kept   []string
	safe   map[string]bool
}

func (s *shelf) Begin() (io.Writer, error) { return io.Discard, nil }

func (s *shelf) Keep(l client.Label) error {
	if err := s.noKeep[l.ID]; err != nil {
		return err
	}
	s.kept = append(s.kept, l.ID)
	if s.onKeep != nil {
		s.onKeep()
	}
	return nil
}

func (s *shelf) Sync() error {
	if s.noSync != nil {
		return s.noSync
	}
	s.safe = map[string]bool{}
	for _, id := range s.kept {
		s.safe[id] = true
	}
	return nil
}

func newPickup(t testing.TB, r *relay, s *shelf) pickup.Pickup {
	t.Helper()
	r.shelf = s
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	who, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return pickup.Pickup{Relay: c, Owner: who, Shelf: s}
}

const (
	two  = `{"messages":[{"id":"a","message":"m"},{"id":"b","message":"m"}]}`
	half = `{"messages":[{"id":"a","message":"m"},{"id":"b","message":"m`
)

func TestAcknowledgesWhatIsSafe(t *testing.T) {
	broken := errors.New("the disk is broken")
	taken := fmt.Errorf("b: %w", pickup.ErrTaken)
	for _, tt := range []struct {
		name  string
		relay relay
		shelf shelf
		leave bool
		want  []string // acknowledged
		err   error    // what Run returns is this
		says  string   // or says this
	}{
		{name: "all", relay: relay{answer: two}, want: []string{"a", "b"}},
		{name: "none there", relay: relay{answer: `{"messages":[]}`}},
		{name: "to be left", relay: relay{answer: two}, leave: true},
		{name: "a cut answer", relay: relay{answer: half, cut: true}, want: []string{"a"}, says: "broke off"},
		{name: "an answer that is short", relay: relay{answer: half}, want: []string{"a"}, says: "broke off"},
		{name: "nonsense after one", relay: relay{answer: `{"messages":[{"id":"a","message":"m"},7]}`}, want: []string{"a"}, says: "not what a relay says"},
		{name: "no sync", relay: relay{answer: two}, shelf: shelf{noSync: broken}, err: broken},
		{name: "one not kept", relay: relay{answer: two}, shelf: shelf{noKeep: map[string]error{"b": broken}}, want: []string{"a"}, err: broken},
		{name: "one's place taken", relay: relay{answer: two}, shelf: shelf{noKeep: map[string]error{"a": taken}}, want: []string{"b"}, err: pickup.ErrTaken},
		{name: "a deaf relay", relay: relay{answer: two, deaf: true}, says: "acknowledging 2 messages that are kept"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPickup(t, &tt.relay, &tt.shelf)
			p.Leave = tt.leave
			err := p.Run(t.Context())
			if !slices.Equal(tt.relay.removed, tt.want) {
				t.Errorf("acknowledged %v, want %v", tt.relay.removed, tt.want)
			}
			switch {
			case tt.err != nil && !errors.Is(err, tt.err), tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("Run: %v, want %v%s", err, tt.err, tt.says)
			case tt.err == nil && tt.says == "" && err != nil:
				t.Errorf("Run: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("Run's error is more than a sentence: %v", err)
			}
		})
	}
}

func TestWaitsOnlyWhenAsked(t *testing.T) {
	for wait, want := range map[time.Duration]bool{0: false, 20 * time.Second: true} {
		r := &relay{answer: `{"messages":[]}`}
		p := newPickup(t, r, &shelf{})
		p.Wait = wait
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(r.fetched, `"wait":20`); got != want || !want && strings.Contains(r.fetched, "wait") {
			t.Errorf("wait %v: the fetch was %s", wait, r.fetched)
		}
	}
}

// Who wants to stop amid an answer has what came by then acknowledged.
func TestStopAmidAnAnswer(t *testing.T) {
	tired := errors.New("tired of it")
	ctx, stop := context.WithCancelCause(t.Context())
	r := &relay{answer: half, hang: true}
	p := newPickup(t, r, &shelf{onKeep: func() { stop(tired) }})
	if err := p.Run(ctx); !errors.Is(err, tired) || client.Temporary(err) {
		t.Errorf("Run: %v, want the reason of the stop", err)
	}
	if !slices.Equal(r.removed, []string{"a"}) {
		t.Errorf("acknowledged %v, want the one that came whole", r.removed)
	}
}

func TestManyAreAcknowledgedInSeveralCalls(t *testing.T) {
	const n = 25_000
	var answer strings.Builder
	answer.WriteString(`{"messages":[{"id":"0","message":"m"}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&answer, `,{"id":"%d","message":"m"}`, i)
	}
	r := &relay{answer: answer.String() + "]}"}
	if err := newPickup(t, r, &shelf{}).Run(t.Context()); err != nil || len(r.removed) != n {
		t.Errorf("acknowledged %d, %v; want %d", len(r.removed), err, n)
	}
}
