package pull

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// batch is what one poll brought, and how far it is.
type batch struct {
	mu   sync.Mutex // guards left
	left []string   // ids whose leases are to be renewed

	done []string // to acknowledge, when nobody waits for an answer
	deaf bool     // the relay did not hear an answer
}

// drain hands over what a poll brought, one after the other, and keeps the leases
// of those that wait their turn. What ctx leaves is handed out again.
func (p *Pull) drain(ctx context.Context, brought []sealed) error {
	b := &batch{}
	for _, s := range brought {
		b.left = append(b.left, s.ID)
	}
	renewing, stopRenewing := context.WithCancel(ctx)
	var g sync.WaitGroup
	g.Go(func() { p.renewLeases(renewing, b) })
	err := p.drainAll(ctx, b, brought)
	stopRenewing()
	g.Wait()
	if n := p.refused.count(p.Now()); n != p.status.RefusedForTime {
		p.tell(func(s *Status) { s.RefusedForTime = n })
	}
	return errors.Join(err, p.acknowledge(ctx, b.done, nil))
}

func (p *Pull) drainAll(ctx context.Context, b *batch, brought []sealed) error {
	for i, s := range brought {
		if ctx.Err() != nil {
			return nil
		}
		brought[i].Sealed = nil // a large one is not held twice while the handler is at it
		err := p.one(ctx, b, s)
		b.passed(s.ID)
		if err != nil {
			return err // a handler that is not there is not there for the rest either
		}
	}
	return nil
}

// passed says that a lease needs no renewal any more.
func (b *batch) passed(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.left) > 0 && b.left[0] != id {
		b.left = b.left[1:]
	}
	if len(b.left) > 0 {
		b.left = b.left[1:]
	}
}

func (b *batch) holding() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.left...)
}

// renewLeases keeps the relay from handing out again what a slow handler is at.
func (p *Pull) renewLeases(ctx context.Context, b *batch) {
	tick := time.NewTicker(p.renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := p.Relay.next(ctx, 0, 0, b.holding()); err != nil && ctx.Err() == nil {
				p.Log.Warn("a lease was not renewed: the relay may hand it out again, and it is passed over then", "err", err)
			}
		}
	}
}

// one judges one delivery, and hands it over if all is well.
func (p *Pull) one(ctx context.Context, b *batch, s sealed) error {
	letGo := func(why string, err error) error {
		p.Log.Warn("a delivery is let go: "+why, "id", s.ID, "err", err)
		b.done = append(b.done, s.ID)
		return nil
	}
	r, err := p.open(s)
	if err != nil {
		return letGo("it is not what was sealed for this computer", err)
	}
	h, served := p.served[s.Hook]
	sum, signed := digest(h, r)
	byID, byDigest, err := p.Ledger.Knows(s.ID, sum)
	if err != nil {
		return stop{err}
	}
	by := off(s.received(), p.Now())
	s.Sealed = nil
	if by == 0 {
		delete(p.refused, s.ID)
	}
	switch {
	case byID:
		b.done = append(b.done, s.ID) // it was handed over, and the relay has not heard
		return nil
	case by != 0:
		p.refuse(s, by)
		return nil
	case !served && p.Now().Sub(p.changed) < settling:
		return nil
	case !served:
		return letGo("its hook is served no more", nil)
	case byDigest && signed:
		return letGo("it was handed over before, under another id", nil)
	case signed && p.unsettled.before(sum, s.ID, p.Now()):
		return nil
	}
	return p.hand(ctx, b, s, sum, Delivery{
		ID: s.ID, Hook: h, Received: s.received(), Repeat: byDigest, Request: r,
	})
}

// hand hands one over, notes it, and has it acknowledged.
func (p *Pull) hand(ctx context.Context, b *batch, s sealed, sum [32]byte, d Delivery) error {
	if err := p.Ledger.Room(p.agreed()); err != nil {
		return stop{err}
	}
	answer, keep, err := p.handOver(ctx, d, sum)
	if err != nil {
		return err
	}
	if keep {
		p.unsettled.note(sum, s.ID, p.Now())
		return nil
	}
	p.unsettled.settle(sum)
	if s.Live && answer.Status != 0 && !b.deaf {
		err := p.acknowledge(ctx, []string{s.ID}, map[string]delivery.Response{s.ID: answer})
		if err == nil {
			return nil
		}
		p.Log.Warn("an answer did not reach the relay; its sender gets a plain 200", "id", s.ID, "err", err)
		b.deaf = true
	}
	b.done = append(b.done, s.ID)
	return nil
}

// handOver hands one over, and notes how that went. What is to be kept stays at the
// relay. A handler that broke off was restarted, as a rule, so that it is given
// another try in a moment.
func (p *Pull) handOver(ctx context.Context, d Delivery, sum [32]byte) (answer delivery.Response, keep bool, err error) {
	for again := true; ; again = false {
		answer, err = p.try(ctx, d)
		at := p.latest(d.Received)
		switch {
		case errors.Is(err, ErrNotThere):
			return answer, true, err
		case err == nil && answer.Status < 500:
			if err := p.Ledger.Handed(d.ID, sum, at); err != nil {
				return answer, true, stop{err}
			}
			p.tell(func(st *Status) { st.Handed, st.Handler = p.Now(), "" })
			return answer, false, nil
		}
		broke := err != nil && !timedOut(err)
		keep, err = p.countTry(d, answer, err, at)
		if err != nil || !keep || !again || !broke || ctx.Err() != nil {
			return answer, keep, err
		}
		p.nudge.wait(ctx)
	}
}

func timedOut(err error) bool {
	t, is := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return is && t.Timeout()
}

// latest is the later of now and of when a delivery claims it came: it must be
// remembered for as long as it could be claimed to have come then.
func (p *Pull) latest(received time.Time) time.Time {
	if now := p.Now(); now.After(received) {
		return now
	}
	return received
}

// countTry notes a try that failed. After the last the delivery is let go.
func (p *Pull) countTry(d Delivery, answer delivery.Response, why error, at time.Time) (keep bool, err error) {
	tries, err := p.Ledger.Failed(d.ID, at)
	if err != nil {
		return false, stop{err}
	}
	p.Log.Warn("the handler failed", "id", d.ID, "hook", d.Hook.Name, "try", tries, "of", maxTries, "status", answer.Status, "err", why)
	p.tell(func(s *Status) { s.Handler = "it fails for " + d.Hook.Name })
	if tries < maxTries {
		return true, nil
	}
	p.Log.Error("a delivery is let go: the handler failed with it too often", "id", d.ID, "hook", d.Hook.Name)
	if err := p.Ledger.GaveUp(d.ID, at); err != nil {
		return false, stop{err}
	}
	return false, nil
}

// acknowledge tells the relay that these are done, also when ctx has ended: they
// are in the ledger. If it does not hear, they are passed over the next time.
func (p *Pull) acknowledge(ctx context.Context, ids []string, answers map[string]delivery.Response) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), p.Finish)
	defer stop()
	return p.Relay.acknowledge(ctx, ids, answers)
}
