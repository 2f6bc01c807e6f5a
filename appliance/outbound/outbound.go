// Package outbound brings sealed envelopes to the relays of those they are for, on
// behalf of callers who have proved who they are (relay spec §2.7).
//
// It opens no envelope. It knows neither how a caller proves anything nor how a
// relay is reached.
package outbound

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/storage"
)

const (
	deposits  = "/api/v1/messages" // below an endpoint
	mediaType = "application/didcomm-encrypted+json"
)

// Mailbox is what outbound needs of mailbox.Service.
type Mailbox interface {
	// Deposit files an envelope here.
	Deposit(ctx context.Context, packed []byte) (ids []string, err error)
	// PassOn checks and charges an envelope that is kept elsewhere.
	PassOn(ctx context.Context, packed []byte) error
}

// Courier is what outbound needs of egress.Courier.
type Courier interface {
	Send(ctx context.Context, to egress.Endpoint, mediaType string, body []byte) (answer []byte, err error)
}

// Service delivers. It is safe for concurrent use.
type Service struct {
	Mailbox Mailbox
	Courier Courier
	Turns   *Turns
	// Here are the endpoints of this relay itself, as its owner set them. What is
	// for one of them is filed without a trip.
	Here []egress.Endpoint
}

// Deliver brings a packed envelope, byte for byte, to the relay at endpoint, and
// returns the ids that it gave, none if it named none. A delivery counts to the
// holders while it is under way. It returns egress.ErrEndpoint for no place to
// deliver to, ErrBusy, ErrEnding and flight.ErrBusy, what Mailbox returns, and an *egress.Failure
// if another party failed.
func (s *Service) Deliver(ctx context.Context, endpoint string, packed []byte, holders ...storage.Holder) (ids []string, err error) {
	to, err := egress.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.Here, to) {
		return s.Mailbox.Deposit(ctx, packed)
	}
	if err := to.Deliverable(); err != nil {
		return nil, err
	}
	if err := s.Mailbox.PassOn(ctx, packed); err != nil {
		return nil, err
	}
	ctx, done, err := s.Turns.take(ctx, int64(len(packed)), holders)
	if err != nil {
		return nil, err
	}
	defer done()
	answer, err := s.Courier.Send(ctx, to.Below(deposits), mediaType, packed)
	if err != nil {
		return nil, err
	}
	return idsOf(answer)
}

// idsOf reads the ids out of an answer. One of nothing at all names none; one that
// is no relay's may come from anything that answers every question with a 200, and
// must not pass for a delivery.
func idsOf(answer []byte) ([]string, error) {
	said := struct {
		IDs []string `json:"ids"`
	}{}
	if len(answer) > 0 && json.Unmarshal(answer, &said) != nil {
		return nil, &egress.Failure{Party: egress.Relay, Message: "the endpoint's answer is not a relay's"}
	}
	if said.IDs == nil {
		return []string{}, nil // an array on the wire, never null
	}
	return said.IDs, nil
}
