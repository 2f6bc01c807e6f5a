package pull

import (
	"context"
	"net/http"
	"time"
)

// Hurry makes the pauses of a Pull short, and its leases be renewed often.
func (p *Pull) Hurry() {
	p.retry = backoff{first: time.Millisecond, last: 10 * time.Millisecond}
	p.idle = backoff{first: time.Millisecond, last: 2 * time.Millisecond}
	p.nudge = backoff{first: time.Millisecond, last: 2 * time.Millisecond}
	p.renew = 5 * time.Millisecond
	p.Finish = 5 * time.Second
}

// Over has calls made over another transport.
func (r *Relay) Over(t http.RoundTripper) { r.http.Transport = t }

// Next asks once, without a wait.
func (r *Relay) Next(ctx context.Context) error {
	_, err := r.next(ctx, 0, pollMax, nil)
	return err
}

// Acknowledge lets one go.
func (r *Relay) Acknowledge(ctx context.Context, id string) error {
	return r.acknowledge(ctx, []string{id}, nil)
}
