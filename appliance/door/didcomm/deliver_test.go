package didcomm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/door/didcomm"
	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/outbound"
	"github.com/holdmail/holdmail/storage"
)

var _ didcomm.Outbound = (*outbound.Service)(nil)

// away is the other relays, who note what they are brought.
type away struct {
	brought []string
	holders []storage.Holder
	err     error
}

func (a *away) Deliver(_ context.Context, endpoint string, packed []byte, holders ...storage.Holder) ([]string, error) {
	a.brought = append(a.brought, endpoint+" "+string(packed))
	a.holders = holders
	return []string{"there"}, a.err
}

// letter is the rest of a delivery's body.
func letter(endpoint, message string) string {
	return fmt.Sprintf(`,"endpoint":%q,"message":%q`, endpoint, message)
}

func newDeliverer() (relay, *away) {
	r, a := newRelay(""), &away{}
	r.door.Outbound = a
	return r, a
}

func TestDeliver(t *testing.T) {
	r, a := newDeliverer()
	want := storage.Holder{Name: "ann", Most: 3}
	r.door.DeliverHolders = func(*http.Request) []storage.Holder { return []storage.Holder{want} }
	res, body := r.ask(t, "POST", "/api/v1/deliver", claim(ann, "live", "ann", letter("https://relay.example", envelope)))
	check(t, res, body, 200, `{"ids":["there"]}`)
	if !slices.Equal(a.brought, []string{"https://relay.example " + envelope}) || !slices.Equal(a.holders, []storage.Holder{want}) {
		t.Errorf("brought %q for %v", a.brought, a.holders)
	}
	res, body = r.ask(t, "POST", "/api/v1/deliver", claim(ann, "live", "ann", letter("https://relay.example", envelope)+`,"next":true`))
	check(t, res, body, 200, `{"ids":["there"],"challenge":"next-1"}`)
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
}

func TestDeliveriesThatGoNowhere(t *testing.T) {
	good := letter("https://relay.example", envelope)
	for name, tt := range map[string]struct {
		body   string
		status int
		answer string
		spent  int
	}{
		"no proof":             {`{"endpoint":"https://relay.example","message":"x"}`, 400, "did, challenge and signature must be strings", 0},
		"no JSON":              {`{"did":`, 400, "body is not a JSON object", 0},
		"no endpoint":          {claim(ann, "live", "ann", `,"message":"x"`), 400, "endpoint and message must be strings", 1},
		"no message":           {claim(ann, "live", "ann", `,"endpoint":"https://relay.example"`), 400, "endpoint and message must be strings", 1},
		"message is an object": {claim(ann, "live", "ann", `,"endpoint":"https://relay.example","message":`+envelope), 400, "endpoint and message must be strings", 1},
		"endpoint is a number": {claim(ann, "live", "ann", `,"endpoint":1,"message":"x"`), 400, "endpoint and message must be strings", 1},
		"no text":              {claim(ann, "live", "ann", `,"endpoint":"https://relay.example","message":"\ud800"`), 400, "message is not Unicode text", 1},
		"next is no boolean":   {claim(ann, "live", "ann", good+`,"next":1`), 400, "next must be true or false", 1},
		"spent challenge":      {claim(ann, "spent", "ann", good), 401, "challenge is unknown, expired or already used", 1},
		"wrong signature":      {claim(ann, "live", "bob", good), 401, "signature does not verify", 1},
		"no bare DID":          {claim(ann+"#k", "live", "ann", good), 400, "did is not a bare DID", 1},
		"resolver away":        {claim("did:cid:away", "live", "ann", good), 503, "the DID cannot be resolved now", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, a := newDeliverer()
			res, body := r.ask(t, "POST", "/api/v1/deliver", tt.body)
			check(t, res, body, tt.status, fmt.Sprintf(`{"error":%q}`, tt.answer))
			if a.brought != nil || len(r.gate.spent) != tt.spent {
				t.Errorf("brought %q, spent %d challenges, want %d", a.brought, len(r.gate.spent), tt.spent)
			}
		})
	}
}

func TestDeliveriesThatFail(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		answer string
		retry  int
	}{
		{&egress.Failure{Party: egress.Host, Message: "the host is away", Cause: errors.New("dial tcp 10.0.0.1:443")}, 502, "the host is away", 0},
		{&egress.Failure{Party: egress.Relay, Message: "the endpoint answered 503", RetryAfter: 7 * time.Second}, 502, "the endpoint answered 503", 7},
		{fmt.Errorf("%w: want https", egress.ErrEndpoint), 400, "endpoint is no address to deliver to: want https", 0},
		{fmt.Errorf("%w: it is not valid JSON", mailbox.ErrNotEnvelope), 400, "not a DIDComm encrypted envelope: it is not valid JSON", 0},
		{outbound.ErrBusy, 503, "too many deliveries are under way", 10},
		{outbound.ErrEnding, 503, "this relay is stopping", 10},
		{storage.ErrFull, 429, "mailbox full", 60}, // its own
	} {
		t.Run(tt.answer, func(t *testing.T) {
			r, a := newDeliverer()
			a.err = tt.err
			res, body := r.ask(t, "POST", "/api/v1/deliver", claim(ann, "live", "ann", letter("https://relay.example", envelope)+`,"next":true`))
			check(t, res, body, tt.status, fmt.Sprintf(`{"error":%q}`, tt.answer))
			if got := res.Header.Get("Retry-After"); got != map[bool]string{true: strconv.Itoa(tt.retry)}[tt.retry > 0] {
				t.Errorf("Retry-After = %q, want %d", got, tt.retry)
			}
			if r.gate.issued != 0 {
				t.Error("a challenge was issued for a call that failed")
			}
		})
	}
}
