package hookbox

import (
	"context"
	"maps"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// lease leaves a delivery to whom it was handed out. When it has run out it still
// tells how often that was.
type lease struct {
	until   time.Time
	attempt int
}

// Leased is a delivery as it is handed out.
type Leased struct {
	storage.Kept
	Live    bool // its sender waits for an answer
	Attempt int  // how often it was handed out since the start, this time included

	until time.Time
}

// take leases the oldest deliveries that are not leased: most at the most, and
// BatchBytes unless the first alone is larger.
func (s *Service) take(ctx context.Context, most int) (batch []Leased, err error) {
	now, bytes, last, all := time.Now(), int64(0), "", true
	for kept, err := range s.store.List(ctx, "") {
		if err != nil {
			s.GiveBack(batch)
			return nil, err
		}
		if len(batch) == most || len(batch) > 0 && bytes+kept.Size > BatchBytes {
			all = false
			break
		}
		last = kept.ID
		if one, ok := s.lease(kept, now); ok {
			batch = append(batch, one)
			bytes += kept.Size
		}
	}
	s.forget(now, last, all)
	return batch, nil
}

// lease hands one out, if it is not left to somebody.
func (s *Service) lease(kept storage.Kept, now time.Time) (Leased, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[kept.ID]
	if l.until.After(now) {
		return Leased{}, false
	}
	l = lease{until: now.Add(LeaseFor), attempt: l.attempt + 1}
	s.leases[kept.ID] = l
	sender, live := s.senders[kept.ID]
	if live {
		sender.handedOut = true
	}
	return Leased{Kept: kept, Live: live, Attempt: l.attempt, until: l.until}, true
}

// forget drops the leases of deliveries that are gone without having been
// acknowledged. Of those up to last, or of all, which a look at now found, none has
// run out: it was leased anew.
func (s *Service) forget(now time.Time, last string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.leases, func(id string, l lease) bool {
		return !l.until.After(now) && (all || id <= last)
	})
}

// GiveBack ends the leases of deliveries that were not handed out after all, and
// does not count them as attempts.
func (s *Service) GiveBack(batch []Leased) {
	if len(batch) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range batch {
		if l, ok := s.leases[one.ID]; ok && l.until.Equal(one.until) {
			s.leases[one.ID] = lease{attempt: l.attempt - 1}
		}
	}
	s.callTaker()
}

// renew leaves deliveries to whom they were handed out for LeaseFor from now, those
// included that were before a restart.
func (s *Service) renew(holding []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range holding {
		s.leases[id] = lease{until: time.Now().Add(LeaseFor), attempt: max(s.leases[id].attempt, 1)}
	}
}

// endLeases ends them all, and counts on. The caller holds the lock.
func (s *Service) endLeases() {
	for id, l := range s.leases {
		s.leases[id] = lease{attempt: l.attempt}
	}
	s.callTaker()
}

// nextEnd is when the next lease runs out, if there is one.
func (s *Service) nextEnd() (at time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, l := range s.leases {
		if l.until.After(now) && (!ok || l.until.Before(at)) {
			at, ok = l.until, true
		}
	}
	return at, ok
}
