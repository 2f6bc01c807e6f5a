package pull

import "time"

const (
	maxRefused   = 2000            // that are counted
	refusedAgain = 3 * time.Minute // in which a relay hands out again what it still has
)

// refusals are the ids of deliveries that wait at the relay until the clocks agree,
// and when each was refused last.
type refusals map[string]time.Time

// count forgets what the relay has no more.
func (r refusals) count(now time.Time) int {
	for id, at := range r {
		if now.Sub(at).Abs() > refusedAgain {
			delete(r, id)
		}
	}
	return len(r)
}

// refuse leaves a delivery at the relay.
func (p *Pull) refuse(s sealed, by time.Duration) {
	off := by.Round(time.Second).String()
	if p.refused.count(p.Now()) == 0 {
		p.Log.Warn("a delivery is refused for its time, and stays at the relay until the clocks agree", "id", s.ID, "off", off)
	}
	if len(p.refused) < maxRefused {
		p.refused[s.ID] = p.Now()
	}
	p.status.TimeOff = off
}
