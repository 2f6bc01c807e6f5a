package outbound_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/outbound"
	"github.com/holdmail/holdmail/storage"
)

var (
	_ outbound.Mailbox = (*mailbox.Service)(nil)
	_ outbound.Courier = (*egress.Courier)(nil)
)

// box is a mailbox that notes what comes.
type box struct {
	filed, passed []string
	err           error
}

func (b *box) Deposit(_ context.Context, packed []byte) ([]string, error) {
	b.filed = append(b.filed, string(packed))
	return []string{"here"}, b.err
}

func (b *box) PassOn(_ context.Context, packed []byte) error {
	b.passed = append(b.passed, string(packed))
	return b.err
}

// courier notes where it is sent, and answers when it is let.
type courier struct {
	sent   []string
	answer string
	err    error
	hold   chan struct{} // nil answers at once
	on     chan struct{} // hears of each that waits
}

func (c *courier) Send(ctx context.Context, to egress.Endpoint, mediaType string, body []byte) ([]byte, error) {
	if c.hold != nil {
		c.on <- struct{}{}
		select {
		case <-c.hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return []byte(c.answer), c.err
	}
	c.sent = append(c.sent, to.String()+" "+mediaType+" "+string(body))
	return []byte(c.answer), c.err
}

const memory = 1 << 20

func newService(most int) (*outbound.Service, *box, *courier) {
	b, c := &box{}, &courier{answer: `{"ids":["there"]}`}
	return &outbound.Service{Mailbox: b, Courier: c, Turns: outbound.NewTurns(most, outbound.Memory{Budget: flight.NewBudget(memory), Share: memory / 2, Waiting: flight.Holder{Name: "deliveries", Most: memory}})}, b, c
}

func TestAnEnvelopeGoesToTheMessagesBelowItsEndpoint(t *testing.T) {
	s, b, c := newService(1)
	for range 2 {
		ids, err := s.Deliver(t.Context(), "https://relay.example/didcomm/", []byte("sealed"))
		if err != nil || !slices.Equal(ids, []string{"there"}) {
			t.Errorf("ids = %q, %v", ids, err)
		}
	}
	want := "https://relay.example/didcomm/api/v1/messages application/didcomm-encrypted+json sealed"
	if !slices.Equal(c.sent, []string{want, want}) || !slices.Equal(b.passed, []string{"sealed", "sealed"}) || b.filed != nil {
		t.Errorf("sent %q, passed on %q, filed %q", c.sent, b.passed, b.filed)
	}
}

func TestMailForThisRelayMakesNoTrip(t *testing.T) {
	s, b, c := newService(1)
	for _, text := range []string{"https://relay.example/didcomm", "http://127.0.0.1:4236"} {
		e, err := egress.ParseEndpoint(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Here = append(s.Here, e)
	}
	for _, endpoint := range []string{"https://RELAY.example:443/didcomm/", "http://127.0.0.1:4236/"} {
		if ids, err := s.Deliver(t.Context(), endpoint, []byte("sealed")); err != nil || !slices.Equal(ids, []string{"here"}) {
			t.Errorf("%s: %q, %v", endpoint, ids, err)
		}
	}
	if len(b.filed) != 2 || b.passed != nil || c.sent != nil {
		t.Errorf("filed %q, passed on %q, sent %q", b.filed, b.passed, c.sent)
	}
	for _, endpoint := range []string{"https://relay.example", "https://relay.example:8443/didcomm", "https://relay.example/other"} {
		if _, err := s.Deliver(t.Context(), endpoint, []byte("sealed")); err != nil {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if len(b.filed) != 2 || len(c.sent) != 3 {
		t.Errorf("filed %q, sent %q; want what only looks like this relay sent", b.filed, c.sent)
	}
}

func TestWhatIsNotSent(t *testing.T) {
	s, b, c := newService(1)
	for _, endpoint := range []string{"http://relay.example", "relay.example", ""} {
		if _, err := s.Deliver(t.Context(), endpoint, []byte("sealed")); !errors.Is(err, egress.ErrEndpoint) {
			t.Errorf("%q: %v, want ErrEndpoint", endpoint, err)
		}
	}
	if b.passed != nil {
		t.Errorf("charged for %q", b.passed)
	}
	b.err = mailbox.ErrNotEnvelope
	if _, err := s.Deliver(t.Context(), "https://relay.example", []byte("x")); !errors.Is(err, mailbox.ErrNotEnvelope) {
		t.Errorf("%v, want ErrNotEnvelope", err)
	}
	if c.sent != nil {
		t.Errorf("sent %q", c.sent)
	}
}

func TestWhatTheOtherRelaySays(t *testing.T) {
	s, _, c := newService(1)
	for answer, want := range map[string][]string{
		"": {}, "{}": {}, `{"ids":null}`: {}, `{"ids":[]}`: {}, `{"ids":["a","b"],"more":1}`: {"a", "b"},
		"<html>": nil, "[]": nil, `"ids"`: nil, `{"ids":"a"}`: nil, `{"ids":[1]}`: nil, `{"ids":["a"`: nil,
	} {
		c.answer = answer
		ids, err := s.Deliver(t.Context(), "https://relay.example", []byte("sealed"))
		f, failed := errors.AsType[*egress.Failure](err)
		if failed != (want == nil) || failed && f.Party != egress.Relay || !failed && (ids == nil || !slices.Equal(ids, want)) {
			t.Errorf("%q: %q, %v; want %q", answer, ids, err, want)
		}
	}
	c.err = &egress.Failure{Party: egress.Host, Message: "away"}
	if _, err := s.Deliver(t.Context(), "https://relay.example", []byte("sealed")); !errors.Is(err, c.err) {
		t.Errorf("error = %v, want the courier's", err)
	}
}

// under begins a delivery that waits for the other relay, and returns its end.
func under(t testing.TB, s *outbound.Service, c *courier, size int, holders ...storage.Holder) chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Deliver(t.Context(), "https://slow.example", make([]byte, size), holders...)
		ended <- err
	}()
	select {
	case <-c.on:
	case err := <-ended:
		t.Fatalf("a delivery of %d bytes: %v", size, err)
	}
	return ended
}

func TestSoManyDeliveriesAtATime(t *testing.T) {
	ann, bob := storage.Holder{Name: "ann", Most: 2}, storage.Holder{Name: "bob", Most: 2}
	refused := func(s *outbound.Service, size int, holders ...storage.Holder) {
		t.Helper()
		if _, err := s.Deliver(t.Context(), "https://slow.example", make([]byte, size), holders...); !errors.Is(err, outbound.ErrBusy) {
			t.Errorf("%v, want ErrBusy", err)
		}
	}
	s, _, c := newService(3)
	c.hold, c.on = make(chan struct{}), make(chan struct{})
	all := []chan error{under(t, s, c, 1, ann), under(t, s, c, 1, ann)}
	refused(s, 1, ann) // her share
	all = append(all, under(t, s, c, 1, bob))
	refused(s, 1, bob) // all
	for range all {
		c.hold <- struct{}{}
	}
	for _, ended := range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}

	large := memory/2 - memory/32
	all = []chan error{under(t, s, c, large, ann)}
	refused(s, large, ann) // her share of memory
	refused(s, memory, bob)
	all = append(all, under(t, s, c, large/4, bob), under(t, s, c, 1, ann)) // there is room for small ones
	close(c.hold)
	for _, ended := range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	c.hold = nil
	for range 10 { // every turn was given back
		if _, err := s.Deliver(t.Context(), "https://relay.example", make([]byte, large), ann); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheEndGivesUpWhatIsUnderWay(t *testing.T) {
	s, _, c := newService(2)
	c.hold, c.on = make(chan struct{}), make(chan struct{})
	ended := under(t, s, c, 1)
	s.Turns.End()
	if err := <-ended; !errors.Is(err, outbound.ErrEnding) {
		t.Errorf("under way: %v, want ErrEnding", err)
	}
	if _, err := s.Deliver(t.Context(), "https://relay.example", []byte("sealed")); !errors.Is(err, outbound.ErrEnding) {
		t.Errorf("after the end: %v, want ErrEnding", err)
	}
}
