package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/appliance/identity"
)

const (
	sampleBytes  = 2 << 10          // of the envelope that is carried
	stepTime     = 30 * time.Second // a step that takes longer has failed
	slowStepTime = 2 * time.Minute  // the same through a proxy, which may have to find a way first
)

// Step is one finished step of a self-test.
type Step struct {
	Name string
	Took time.Duration
	Err  error // nil if it passed
}

// Selftest carries one envelope through the relay as a throw-away identity, and
// checks that a replayed challenge and a forged signature are refused. It calls
// report after each step. The first step that fails is the last one, and its
// error says what was expected; an envelope left behind by it expires like any
// other.
func (c *Client) Selftest(ctx context.Context, report func(Step)) error {
	t := &trial{relay: c}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"the relay is ready", c.Health},
		{"make a throw-away identity", t.appear},
		{"deposit an envelope", t.deposit},
		{"prove control and fetch", t.fetch},
		{"the envelope is unchanged", t.compare},
		{"a replayed challenge is refused", t.replay},
		{"a forged signature is refused", t.forge},
		{"remove the envelope", t.remove},
		{"the mailbox is empty", t.empty},
	} {
		step := c.run(ctx, s.name, s.do)
		report(step)
		if step.Err != nil {
			return fmt.Errorf("%s: %w", step.Name, step.Err)
		}
	}
	return nil
}

func (c *Client) run(ctx context.Context, name string, do func(context.Context) error) Step {
	limit := stepTime
	if c.proxied {
		limit = slowStepTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("took too long"))
	defer cancel()
	start := time.Now()
	err := do(ctx)
	return Step{Name: name, Took: time.Since(start), Err: err}
}

// trial is what one self-test carries from step to step.
type trial struct {
	relay    *Client
	who      *identity.Identity
	envelope []byte
	id       string    // of the deposit
	proof    Proof     // of the fetch, spent
	fetched  []Message // by that fetch
}

func (t *trial) appear(context.Context) (err error) {
	t.who, err = identity.New()
	return err
}

func (t *trial) deposit(ctx context.Context) error {
	t.envelope = identity.SampleEnvelope(sampleBytes, t.who.KeyID())
	ids, err := t.relay.Deposit(ctx, t.envelope)
	if err != nil {
		return err
	}
	if len(ids) != 1 {
		return fmt.Errorf("got %d ids, want one for the one recipient", len(ids))
	}
	t.id = ids[0]
	return nil
}

func (t *trial) fetch(ctx context.Context) (err error) {
	if t.proof, err = t.relay.Prove(ctx, t.who); err != nil {
		return err
	}
	t.fetched, err = t.relay.FetchWith(ctx, t.proof)
	return err
}

func (t *trial) compare(context.Context) error {
	if len(t.fetched) != 1 {
		return fmt.Errorf("fetched %d messages, want the one deposited", len(t.fetched))
	}
	if got := t.fetched[0]; got.ID != t.id || got.Envelope != string(t.envelope) {
		return errors.New("what was fetched is not what was deposited")
	}
	return nil
}

func (t *trial) replay(ctx context.Context) error {
	_, err := t.relay.FetchWith(ctx, t.proof)
	return wantUnauthorized(err)
}

func (t *trial) forge(ctx context.Context) error {
	other, err := identity.New()
	if err != nil {
		return err
	}
	// The challenge is one for the DID, so that only the signature is wrong.
	p, err := t.relay.proveAs(ctx, t.who.DID(), other)
	if err != nil {
		return err
	}
	_, err = t.relay.FetchWith(ctx, p)
	return wantUnauthorized(err)
}

func (t *trial) remove(ctx context.Context) error {
	removed, err := t.relay.Remove(ctx, t.who, []string{t.id})
	if err == nil && removed != 1 {
		return fmt.Errorf("removed %d messages, want 1", removed)
	}
	return err
}

func (t *trial) empty(ctx context.Context) error {
	left, err := t.relay.Fetch(ctx, t.who)
	if err == nil && len(left) != 0 {
		return fmt.Errorf("%d messages are left, want none", len(left))
	}
	return err
}

// wantUnauthorized passes if err is the relay's 401.
func wantUnauthorized(err error) error {
	refused, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return errors.New("the relay answered 200, want 401")
	case ok && refused.Status == http.StatusUnauthorized:
		return nil
	default:
		return fmt.Errorf("want 401: %w", err)
	}
}
