// Package webhook is the door that webhooks are sent to, and that the home computer
// drains: the HTTP surface of the hookbox.
//
// It decodes, asks and answers. It checks no sender's signature, since it has no
// secret to check it with, and reads nothing of a body. It knows nothing of seals,
// and of how deliveries are kept.
package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

// Box is what the door needs of hookbox.Service.
type Box interface {
	Registered(hook storage.Hook) bool
	Register(ctx context.Context, addresses []hookbox.Address) error
	Deliver(ctx context.Context, hook storage.Hook, plaintext []byte) (*hookbox.Sender, error)
	Next(ctx context.Context, ask hookbox.Ask) ([]hookbox.Leased, error)
	GiveBack(batch []hookbox.Leased)
	Sealed(ctx context.Context, id string) ([]byte, error)
	Acknowledge(ctx context.Context, ids []string, answers map[string]delivery.Response) (removed int, err error)
	Status(ctx context.Context) (hookbox.Status, error)
}

// Setup is what the door needs of seal.Setup: who the home computer is.
type Setup interface {
	Admits(token string) bool
	KeyID() string
}

// Budgets charge the door's calls, each to those who ought to pay for it. Their
// errors are answers.
type Budgets interface {
	// Stranger charges a call of one who names no address and has no token.
	Stranger(r *http.Request) error
	// Delivery charges a delivery to its address. giveBack undoes that.
	Delivery(r *http.Request, hook storage.Hook) (giveBack func(), err error)
	// Home charges a call of the home computer, to a budget that is its own.
	Home(r *http.Request) error
}

// Options say what a Door works with.
type Options struct {
	Box       Box
	Setup     Setup
	Budgets   Budgets
	PublicURL string           // what senders' URLs begin with; "" takes that from their requests
	MaxBody   int64            // of a delivery, in bytes
	MaxQueue  int              // deliveries that wait for memory at one time
	Caps      storage.HookCaps // for the home computer to know
}

// Door answers the webhook calls. It is safe for concurrent use.
type Door struct {
	Options
	queue   chan struct{} // holds one for each delivery that waits for memory
	uploads chan struct{} // holds one for each body that the home computer sends
}

// maxUploads is how many bodies of the home computer are held at one time. They are
// outside the memory that strangers share, and so cannot be kept out of it.
const maxUploads = 2

// HomeBytes is what the home computer's calls hold of bodies at most, in bytes.
const HomeBytes = maxUploads * 2 * ackLimit

// New returns a Door.
func New(o Options) *Door {
	return &Door{o, make(chan struct{}, o.MaxQueue), make(chan struct{}, maxUploads)}
}

// Routes are the door's calls. It charges each itself: who pays depends on the
// address or the token.
func (d *Door) Routes() []door.Route {
	return []door.Route{
		{Method: http.MethodGet, Path: "/hooks/:id", Class: door.Self, Handler: d.deliver},
		{Method: http.MethodPost, Path: "/hooks/:id", Class: door.Self, Handler: d.deliver},
		{Method: http.MethodPut, Path: "/relay/v1/hooks", Class: door.Self, Handler: d.home(d.uploaded(d.register))},
		{Method: http.MethodGet, Path: "/relay/v1/next", Class: door.Self, Handler: d.home(d.next)},
		{Method: http.MethodPost, Path: "/relay/v1/ack", Class: door.Self, Handler: d.home(d.uploaded(d.acknowledge))},
		{Method: http.MethodGet, Path: "/relay/v1/status", Class: door.Self, Handler: d.home(d.status)},
	}
}

// Rules are the door's answers to the errors of what is behind it. A sender that is
// told 503 tries again: no delivery is lost because the relay is full.
func (d *Door) Rules() []door.Rule {
	return []door.Rule{
		{Is: storage.ErrFull, Answer: unavailable("too many deliveries wait", time.Minute)},
		{Is: storage.ErrNoRoom, Answer: unavailable(storage.ErrNoRoom.Error(), time.Minute)},
		{Is: storage.ErrBroken, Answer: unavailable(storage.ErrBroken.Error(), time.Minute)},
		{Is: storage.ErrClosed, Answer: unavailable(storage.ErrClosed.Error(), 10*time.Second)},
		{Is: flight.ErrBusy, Answer: unavailable(flight.ErrBusy.Error(), busyRetryAfter)},
		{Is: flight.ErrEnded, Answer: unavailable(flight.ErrEnded.Error(), busyRetryAfter)},
	}
}

func unavailable(message string, retryAfter time.Duration) door.Error {
	return door.Error{Status: http.StatusServiceUnavailable, Message: message, RetryAfter: retryAfter}
}

func badRequest(message string) *door.Error {
	return &door.Error{Status: http.StatusBadRequest, Message: message}
}

// hasBody reports whether a body is on its way.
func hasBody(r *http.Request) bool { return r.ContentLength != 0 }
