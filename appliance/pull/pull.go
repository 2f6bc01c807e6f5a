// Package pull is the home side of the webhook door: it takes sealed deliveries from
// a relay, opens them, and hands each to a handler once.
//
// It trusts the relay with nothing but to keep: what does not open, claims another
// time, or was handed over before goes no further. It judges no sender: signatures
// are the handler's to check, over the request as the sender made it. It knows
// nothing of how a handler does its work; HTTP is one.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdmail/holdmail/appliance/pull/ledger"
	"github.com/holdmail/holdmail/appliance/seal"
)

const (
	pollWait  = 25 * time.Second
	pollMax   = 16               // deliveries at a time
	renewTime = 20 * time.Second // a lease lasts a minute
	maxTries  = 5                // that a handler fails before a delivery is let go
	settling  = 10 * time.Minute // after the hooks changed, in which one may come back
	tooSoon   = time.Second      // for an answer without deliveries
)

// Pull drains one relay into one handler. Its fields are set before Run.
type Pull struct {
	Relay   *Relay
	Key     seal.Key
	Handler Handler
	Ledger  *ledger.Ledger
	// Hooks names the addresses that are served. It is asked before each poll; what
	// changed is registered with the relay. An error at the start ends Run, a later
	// one leaves the addresses as they were.
	Hooks func() ([]Hook, error)
	// Once ends Run when nothing waits.
	Once bool
	// Finish bounds how long a handler that is at work may go on when Run is asked
	// to end. New sets ten seconds.
	Finish time.Duration
	// Log hears of what is refused and let go, never of what is in a delivery.
	Log *slog.Logger
	// Tell is told how it stands, each time that changes; nil is nobody.
	Tell func(Status)
	// Now is the clock. New sets time.Now.
	Now func() time.Time

	retry   backoff // between calls to a relay that fails
	idle    backoff // between calls to a relay that does not wait
	nudge   backoff // between tries of a handler that is not there
	renew   time.Duration
	hooks   []Hook
	served  map[string]Hook // by the hex SHA-256 of the id
	changed time.Time       // when the hooks did
	unread  string          // why they cannot be read, now
	refused refusals
	linked  bool // the relay is ours, and knows our hooks
	status  Status

	unsettled unsettled
}

// New returns a Pull that lacks nothing but Hooks.
func New(relay *Relay, key seal.Key, to Handler, l *ledger.Ledger, log *slog.Logger) *Pull {
	return &Pull{
		Relay: relay, Key: key, Handler: to, Ledger: l, Log: log,
		Finish: 10 * time.Second, Now: time.Now,
		retry: backoff{first: time.Second, last: time.Minute},
		idle:  backoff{first: 100 * time.Millisecond, last: 5 * time.Second},
		nudge: backoff{first: time.Second, last: 8 * time.Second},
		renew: renewTime, refused: refusals{},
	}
}

// Run drains the relay until ctx ends, and returns nil then: the handler that was at
// work has answered, or had its time, and what it answered is acknowledged. A relay
// that fails is tried again for ever. It returns an error for what only a person can
// change: ledger.ErrFull, a ledger that cannot be written, hooks that cannot be
// read at the start. With Once it returns as soon as nothing waits, or with the
// error of the relay, or of a handler that is not there.
func (p *Pull) Run(ctx context.Context) error {
	if err := p.readHooks(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := p.turn(ctx)
		switch {
		case ctx.Err() != nil && !fatal(err):
			return nil
		case p.Once && errors.Is(err, ErrNotThere): // which it has told
			return err
		case fatal(err), p.Once && err != nil:
			p.tell(func(s *Status) { s.Trouble = err.Error() })
			return err
		case err != nil:
			p.fail(ctx, err)
		case n == 0 && p.Once:
			return nil
		}
	}
	return nil
}

// turn asks for deliveries once, and hands over those that come.
func (p *Pull) turn(ctx context.Context) (n int, err error) {
	p.readHooksAgain()
	unknown := p.link(ctx)
	if _, full := errors.AsType[unavailable](unknown); unknown != nil && !full {
		return 0, unknown
	}
	if err := p.Ledger.Room(p.agreed()); err != nil {
		return 0, stop{err}
	}
	wait := pollWait
	if p.Once || unknown != nil {
		wait = 0
	}
	asked := time.Now()
	batch, err := p.Relay.next(ctx, wait, pollMax, nil)
	if err = cmp.Or(err, whenNone(batch, unknown)); err != nil {
		return 0, err
	}
	p.retry.calm()
	p.tell(func(s *Status) { s.Trouble, s.Heard, s.RefusedForTime = "", p.Now(), p.refused.count(p.Now()) })
	if len(batch) == 0 && !p.Once {
		p.rest(ctx, time.Since(asked))
	}
	return len(batch), p.drain(ctx, batch)
}

// whenNone is the error of a relay whose disk may be too full to learn our hooks: what
// it keeps has to go first.
func whenNone(batch []sealed, unknown error) error {
	if len(batch) > 0 {
		return nil
	}
	return unknown
}

// rest keeps a relay that does not wait from being asked without end.
func (p *Pull) rest(ctx context.Context, waited time.Duration) {
	if waited >= tooSoon {
		p.idle.calm()
		return
	}
	p.idle.wait(ctx)
}

// agreed is the earlier of the time here and at the relay: a clock that jumps ahead
// alone must not have the ledger forget.
func (p *Pull) agreed() time.Time {
	if here, there := p.Now(), p.Relay.said(); here.After(there) {
		return there
	}
	return p.Now()
}

// link makes sure, once after each trouble, that the relay seals for our key and
// knows our hooks. A relay that seals for another one is not drained: what it hands
// out would not open, and would be let go.
func (p *Pull) link(ctx context.Context) error {
	if p.linked {
		return nil
	}
	is, err := p.Relay.Status(ctx)
	if err != nil {
		return err
	}
	if want := p.Key.Setup().KeyID(); is.KeyID != want {
		return fmt.Errorf("%w: it seals for key %.16q, and this is %s; give it the code of holdmail pair --show", ErrOtherKey, is.KeyID, want)
	}
	if err := p.Relay.register(ctx, p.hooks); err != nil {
		return err
	}
	p.linked = true
	return nil
}

// fail waits after an error of the relay. It says each one once.
func (p *Pull) fail(ctx context.Context, err error) {
	p.linked = false
	if p.status.Trouble != err.Error() {
		p.Log.Warn("no deliveries", "err", err)
	}
	p.tell(func(s *Status) { s.Trouble = err.Error() })
	p.retry.wait(ctx)
}

// stop is an error that trying again does not change.
type stop struct{ error }

// Unwrap returns the error itself.
func (s stop) Unwrap() error { return s.error }

func fatal(err error) bool {
	_, is := errors.AsType[stop](err)
	return is
}
