package pull

import (
	"maps"
	"time"
)

// unsettledFor is how long an equal delivery waits for one that failed. The relay
// hands that out again every minute; if it has not for so long, it is gone.
const unsettledFor = 10 * time.Minute

// unsettled are deliveries whose handler failed and may have done the work, by
// digest: until one is settled, another like it must wait, since a repeat must carry
// the id that the handler knows. It is never more than was tried within unsettledFor.
type unsettled map[[32]byte]failure

type failure struct {
	id string
	at time.Time // of the last try
}

// note says that a delivery has failed now.
func (u *unsettled) note(sum [32]byte, id string, now time.Time) {
	if *u == nil {
		*u = unsettled{}
	}
	maps.DeleteFunc(*u, func(_ [32]byte, f failure) bool { return f.gone(now) })
	(*u)[sum] = failure{id, now}
}

// settle says that no more comes of a delivery.
func (u unsettled) settle(sum [32]byte) { delete(u, sum) }

// before reports whether an equal delivery of another id has to be settled first.
func (u unsettled) before(sum [32]byte, id string, now time.Time) bool {
	f, failed := u[sum]
	return failed && f.id != id && !f.gone(now)
}

func (f failure) gone(now time.Time) bool {
	since := now.Sub(f.at)
	return since > unsettledFor || since < -unsettledFor // the clock may be set
}
