package mailbox

import (
	"context"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/storage"
)

// Await returns as soon as mail is there that Fetch of the same owner and after
// would yield, and else when limit is over: at once if Waiters has no place for
// the caller, who is counted to the holders, and early if Waiters ends. It returns
// ctx's error if the caller leaves, and what Store.List does. While it waits it
// holds no transaction.
func (s *Service) Await(ctx context.Context, owner did.ID, after string, limit time.Duration, holders ...storage.Holder) error {
	// The place comes before the first look, or a deposit between the two would call
	// nobody.
	place := s.Waiters.enter(string(owner), holders)
	if place == nil {
		return nil
	}
	defer s.Waiters.leave(place)
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		if there, err := s.any(ctx, owner, after); there || err != nil {
			return err
		}
		select {
		case <-place.woken:
		case <-over.C:
			return nil
		case <-s.Waiters.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// any reports whether Fetch would yield something.
func (s *Service) any(ctx context.Context, owner did.ID, after string) (bool, error) {
	for _, err := range s.Fetch(ctx, owner, after) {
		return err == nil, err
	}
	return false, nil
}
