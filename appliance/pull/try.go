package pull

import (
	"context"
	"errors"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// looks is how often a Pull with Once looks for a handler that is not there.
const looks = 4

// try hands a delivery over. A handler that is not there is looked for until it is,
// while the leases are renewed: then nothing waits longer than it must, and no
// sender waits for an answer that cannot come, since nothing is asked for.
func (p *Pull) try(ctx context.Context, d Delivery) (answer delivery.Response, err error) {
	defer p.nudge.calm()
	for n := 1; ; n++ {
		answer, err = p.deliver(ctx, d)
		if !errors.Is(err, ErrNotThere) || ctx.Err() != nil {
			return answer, err
		}
		if p.status.Handler == "" {
			p.Log.Warn("the handler is not there; deliveries stay at the relay", "err", err)
		}
		p.tell(func(s *Status) { s.Handler = err.Error() })
		if p.Once && n == looks {
			return answer, err
		}
		p.nudge.wait(ctx)
	}
}

// deliver calls the handler. When ctx ends it has some time to finish.
func (p *Pull) deliver(ctx context.Context, d Delivery) (delivery.Response, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(p.Finish):
			cancel()
		case <-work.Done():
		}
	})
	defer stop()
	d.Waited = p.Now().Sub(d.Received) > waitedFor
	answer, err := p.Handler.Deliver(work, d)
	if err != nil && work.Err() != nil {
		return answer, ErrNotThere // it had no time to finish: no try that counts
	}
	return answer, err
}
