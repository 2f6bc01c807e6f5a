package pull

import (
	"context"
	"errors"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// ErrNotThere is wrapped by a Handler's error when nobody took the request: it is not
// running. Then nothing counts as tried, and the delivery stays at the relay.
var ErrNotThere = errors.New("the handler is not there")

// Handler takes deliveries, one at a time.
type Handler interface {
	// Deliver takes one, and returns the answer for its sender. It may be called
	// twice with the same ID: when this program was killed before it could note the
	// first. An answer with a status of 500 or more, or an error, is a try that
	// failed: the delivery comes again, five times in all, the second time in a
	// moment after an error that is no timeout. An error that is
	// ErrNotThere is no try at all. ctx ends some time after Run is asked to.
	Deliver(ctx context.Context, d Delivery) (delivery.Response, error)
}

// Delivery is a request that came to a hook.
type Delivery struct {
	ID       string // the relay's; the same for each try
	Hook     Hook
	Received time.Time // by the relay's word, to the millisecond
	Waited   bool      // more than a minute, so that a check of its age is to be made from Received
	// Repeat says that an equal request was handed over in the last eight days,
	// and that neither carries an id or a signature that tells them apart. Both may
	// be honest, as with a heartbeat.
	Repeat  bool
	Request delivery.Request
}
