package hookbox

import (
	"context"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/storage"
)

// Deliver seals a request, keeps it, and hands it to the home computer if that
// waits for it. Once it returns nil the delivery survives a crash. The Sender is nil
// unless the answer may be waited for; any other must be asked for it. Besides
// plaintext it holds as much again and Overhead. It returns what Store.Add does; on
// any error nothing is kept.
func (s *Service) Deliver(ctx context.Context, hook storage.Hook, plaintext []byte) (*Sender, error) {
	id, received, err := s.store.Reserve()
	if err != nil {
		return nil, err
	}
	sealed, err := s.sealer.Seal(id, received, plaintext)
	if err != nil {
		return nil, err
	}
	// The sender stands ready before the delivery can be seen, or it might be handed
	// out and answered before.
	sender := s.expect(id, hook)
	err = s.store.Add(ctx, storage.Delivery{ID: id, Hook: hook, Received: received, Sealed: sealed})
	if err != nil {
		sender.leave()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callTaker()
	return sender, nil
}

// Sender waits for the home computer's answer to its delivery. A nil Sender waits
// for none.
type Sender struct {
	service *Service
	id      string
	until   time.Time
	answer  chan *delivery.Response // holds one; nil says that there will be none

	handedOut bool // guarded by the service's lock
}

// expect makes a sender of the delivery of that id, or nil when nobody waits for
// deliveries, or too many senders wait for answers.
func (s *Service) expect(id string, hook storage.Hook) *Sender {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.takers) == 0 || len(s.senders) >= s.maxLive {
		return nil
	}
	wait, ok := s.hooks[hook]
	if !ok {
		wait = LongestWait // it was registered a moment ago
	}
	sender := &Sender{service: s, id: id, until: time.Now().Add(wait), answer: make(chan *delivery.Response, 1)}
	s.senders[id] = sender
	return sender
}

// Answer waits for the answer, and returns nil if none comes in time: within the
// wait of the address, which began with Deliver; before ctx ends; before the Service
// does. It is good once.
func (w *Sender) Answer(ctx context.Context) *delivery.Response {
	if w == nil {
		return nil
	}
	defer w.leave()
	over := time.NewTimer(time.Until(w.until))
	defer over.Stop()
	select {
	case answer := <-w.answer:
		return answer
	case <-over.C:
	case <-ctx.Done():
	case <-w.service.ended:
	}
	return nil
}

// leave makes place for another.
func (w *Sender) leave() {
	if w == nil {
		return
	}
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	delete(w.service.senders, w.id)
}

// reply gives the sender of a delivery its answer, or none; the first counts. The
// caller holds the lock.
func (s *Service) reply(id string, answer *delivery.Response) {
	if sender, waits := s.senders[id]; waits {
		delete(s.senders, id)
		sender.answer <- answer
	}
}
