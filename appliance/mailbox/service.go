package mailbox

import (
	"context"
	"iter"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/storage"
)

// Service is the mailbox: whoever deposits needs no permission, whoever fetches
// or removes has proved to be the owner before coming here.
type Service struct {
	Store         Store
	MaxRecipients int      // per envelope
	Waiters       *Waiters // nil lets nobody wait
	// Charge is asked before a deposit is kept, with the bytes that it takes from
	// the store: its size for every mailbox. On an error nothing is kept. If it is
	// nil, deposits cost nothing.
	Charge func(ctx context.Context, bytes int64) error
}

// Deposit files a packed envelope, which must be valid UTF-8, for each DID it is
// addressed to, calls those who wait for it, and returns one id per mailbox in the
// order they were named. It returns ErrNotEnvelope for what cannot be filed,
// flight.ErrBusy when the context's load has no memory to read it, and what Charge
// and Store.Add return; on any error nothing is kept.
func (s *Service) Deposit(ctx context.Context, packed []byte) (ids []string, err error) {
	owners, err := recipientsOf(packed, s.MaxRecipients, flight.Of(ctx))
	if err != nil {
		return nil, err
	}
	if s.Charge != nil {
		if err := s.Charge(ctx, int64(len(packed))*int64(len(owners))); err != nil {
			return nil, err
		}
	}
	names := make([]string, len(owners))
	for i, owner := range owners {
		names[i] = string(owner)
	}
	if ids, err = s.Store.Add(ctx, storage.Envelope{Recipients: names, Body: packed}); err != nil {
		return nil, err
	}
	s.Waiters.wake(names)
	return ids, nil
}

// PassOn checks an envelope as Deposit does, for one that another relay keeps, and
// charges its size once. It returns ErrNotEnvelope, flight.ErrBusy and what Charge
// returns.
func (s *Service) PassOn(ctx context.Context, packed []byte) error {
	if _, err := recipientsOf(packed, s.MaxRecipients, flight.Of(ctx)); err != nil {
		return err
	}
	if s.Charge == nil {
		return nil
	}
	return s.Charge(ctx, int64(len(packed)))
}

// Fetch yields what is there for owner, oldest first, after a message of that id or
// from the beginning, as Store.List does.
func (s *Service) Fetch(ctx context.Context, owner did.ID, after string) iter.Seq2[storage.Message, error] {
	return s.Store.List(ctx, string(owner), after)
}

// Remove acknowledges owner's messages, as Store.Remove does.
func (s *Service) Remove(ctx context.Context, owner did.ID, ids []string) (removed int, err error) {
	return s.Store.Remove(ctx, string(owner), ids)
}

// Ready returns nil if a deposit could be kept now, else why not.
func (s *Service) Ready(ctx context.Context) error { return s.Store.Ready(ctx) }
