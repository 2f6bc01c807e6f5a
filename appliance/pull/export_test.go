package pull

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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

// Impatient has calls given up early, and trusts roots.
func (r *Relay) Impatient(roots *x509.CertPool) {
	r.patience = 500 * time.Millisecond
	t := r.http.Transport.(*http.Transport)
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	t.HTTP2.SendPingTimeout, t.HTTP2.PingTimeout = 200*time.Millisecond, 200*time.Millisecond
}

// Next asks once, without a wait.
func (r *Relay) Next(ctx context.Context) error {
	_, err := r.next(ctx, 0, pollMax, nil)
	return err
}

// Acknowledge lets one go.
func (r *Relay) Acknowledge(ctx context.Context, id string) error {
	return r.acknowledge(ctx, []string{id}, nil)
}
