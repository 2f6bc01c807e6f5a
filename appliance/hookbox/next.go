package hookbox

import (
	"context"
	"slices"
	"time"
)

// maxTakers is how many callers may wait for deliveries at one time. One more sends
// the one away that has waited longest: its caller may be long gone.
const maxTakers = 16

// Ask is what the home computer asks for.
type Ask struct {
	Most    int           // deliveries, MaxBatch at most; 0 asks for none, and waits for none
	Wait    time.Duration // for the first of them
	Holding []string      // ids whose leases are renewed
}

// Next leases the oldest deliveries that are not leased. If there are none it waits
// for some, and returns none when the wait is over or the Service ends. Each is
// leased to one caller, for LeaseFor; then it is handed out again. What does not
// reach the home computer must be given back. It returns ctx's error if the caller
// leaves, and what Store.List does.
func (s *Service) Next(ctx context.Context, ask Ask) ([]Leased, error) {
	s.renew(ask.Holding)
	if ask.Most <= 0 {
		return nil, nil
	}
	// The place comes before the first look, or a delivery between the two would call
	// nobody.
	place := s.enter()
	if place == nil {
		return nil, nil
	}
	defer s.leave(place)
	over := time.NewTimer(ask.Wait)
	defer over.Stop()
	for {
		batch, err := s.take(ctx, min(ask.Most, MaxBatch))
		if len(batch) > 0 || err != nil {
			return batch, err
		}
		if again, err := s.wait(ctx, place, over.C); !again {
			return nil, err
		}
	}
}

// wait reports whether it is time for another look.
func (s *Service) wait(ctx context.Context, place *taker, over <-chan time.Time) (again bool, err error) {
	var ranOut <-chan time.Time
	if at, ok := s.nextEnd(); ok {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		ranOut = timer.C
	}
	select {
	case <-place.called:
		return true, nil
	case <-ranOut:
		return true, nil
	case <-over:
	case <-place.sentAway:
	case <-s.ended:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// taker waits for deliveries.
type taker struct {
	called   chan struct{} // holds one call at most: more say nothing new
	sentAway chan struct{}
}

// enter takes a place for one who waits for deliveries, or is nil since End.
func (s *Service) enter() *taker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	place := &taker{make(chan struct{}, 1), make(chan struct{})}
	if len(s.takers) == maxTakers {
		close(s.takers[0].sentAway)
		s.takers = slices.Delete(s.takers, 0, 1)
	}
	s.takers = append(s.takers, place)
	return place
}

// leave gives a place back. A call that it did not follow is for another. When
// nobody waits any more, the senders whose deliveries nobody took wait for nothing.
func (s *Service) leave(place *taker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.takers, place); i >= 0 {
		s.takers = slices.Delete(s.takers, i, i+1)
	}
	s.callTaker()
	if len(s.takers) > 0 {
		return
	}
	for id, sender := range s.senders {
		if !sender.handedOut {
			s.reply(id, nil)
		}
	}
}

// callTaker calls one who waits for deliveries: the last who came, since the caller
// of an older one may be gone without a word. The caller holds the lock.
func (s *Service) callTaker() {
	if len(s.takers) == 0 {
		return
	}
	select {
	case s.takers[len(s.takers)-1].called <- struct{}{}:
	default: // called already, and has not looked yet
	}
}
