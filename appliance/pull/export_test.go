package pull

import "time"

// Hurry makes the pauses of a Pull short, and its leases be renewed often.
func (p *Pull) Hurry() {
	p.retry = backoff{first: time.Millisecond, last: 10 * time.Millisecond}
	p.nudge = backoff{first: time.Millisecond, last: 2 * time.Millisecond}
	p.renew = 5 * time.Millisecond
	p.Finish = 5 * time.Second
}
