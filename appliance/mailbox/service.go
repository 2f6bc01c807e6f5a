package mailbox

import (
	"context"
	"iter"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/storage"
)

// Service is the mailbox: whoever deposits needs no permission, whoever fetches
// or removes has proved to be the owner before coming here.
type Service struct {
	Store         Store
	MaxRecipients int // per envelope
}

// Deposit files a packed envelope, which must be valid UTF-8, for each DID it is
// addressed to, and returns one id per mailbox in the order they were named. It
// returns ErrNotEnvelope for what cannot be filed, and what Store.Add returns;
// on any error nothing is kept.
func (s *Service) Deposit(ctx context.Context, packed []byte) (ids []string, err error) {
	owners, err := Recipients(packed, s.MaxRecipients)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(owners))
	for i, owner := range owners {
		names[i] = string(owner)
	}
	return s.Store.Add(ctx, storage.Envelope{Recipients: names, Body: packed})
}

// Fetch yields what waits for owner, oldest first, as Store.List does.
func (s *Service) Fetch(ctx context.Context, owner did.ID) iter.Seq2[storage.Message, error] {
	return s.Store.List(ctx, string(owner))
}

// Remove acknowledges owner's messages, as Store.Remove does.
func (s *Service) Remove(ctx context.Context, owner did.ID, ids []string) (removed int, err error) {
	return s.Store.Remove(ctx, string(owner), ids)
}

// Ready returns nil if a deposit could be kept now, else why not.
func (s *Service) Ready(ctx context.Context) error { return s.Store.Ready(ctx) }
