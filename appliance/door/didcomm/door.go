// Package didcomm is the door that wallets and senders come to: the HTTP surface
// of the mailbox (relay spec §2).
//
// It decodes, asks and answers. It knows nothing of keys, of how a DID is looked
// up, and of how mail is kept.
package didcomm

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/outbound"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/ratelimit"
	"github.com/holdmail/holdmail/storage"
)

// Mailbox is what the door needs of mailbox.Service.
type Mailbox interface {
	Deposit(ctx context.Context, packed []byte) (ids []string, err error)
	Await(ctx context.Context, owner did.ID, after string, limit time.Duration, holders ...storage.Holder) error
	Fetch(ctx context.Context, owner did.ID, after string) iter.Seq2[storage.Message, error]
	Remove(ctx context.Context, owner did.ID, ids []string) (removed int, err error)
	Ready(ctx context.Context) error
}

// Gate is what the door needs of auth.Gate.
type Gate interface {
	Challenge(ctx context.Context, holders ...storage.Holder) (string, error)
	BoundChallenge(ctx context.Context, to did.ID, holders ...storage.Holder) (string, error)
	NextChallenge(ctx context.Context, s auth.Spent, owner did.ID, holders ...storage.Holder) (string, error)
	Spend(ctx context.Context, p auth.Proof) (auth.Spent, error)
	Verify(ctx context.Context, s auth.Spent) (did.ID, error)
}

// Outbound is what the door needs of outbound.Service.
type Outbound interface {
	Deliver(ctx context.Context, endpoint string, packed []byte, holders ...storage.Holder) (ids []string, err error)
}

// Door answers the DIDComm calls. It is safe for concurrent use, and must not be
// copied.
type Door struct {
	Mailbox     Mailbox
	Gate        Gate
	Outbound    Outbound
	UploadLimit int64  // bytes of a deposit's or delivery's body, after inflating
	Endpoint    string // what DID documents should name as this relay's, "" if unknown

	// Holders are those to whom a challenge counts that a request asks for. Nil
	// counts it to nobody.
	Holders func(*http.Request) []storage.Holder
	// WaitHolders are those to whom a fetch counts that waits. Nil counts it to
	// nobody.
	WaitHolders func(*http.Request) []storage.Holder
	// DeliverHolders are those to whom a delivery counts. Nil counts it to nobody.
	DeliverHolders func(*http.Request) []storage.Holder

	buffers sync.Pool // of *bufio.Writer, for listings
}

// Routes are the door's calls. Whatever can be asked with GET can be asked with
// HEAD.
func (d *Door) Routes() []door.Route {
	gets := []door.Route{
		{Path: "/health", Class: door.Free, Handler: d.health},
		{Path: "/api/v1/challenge", Class: ratelimit.Read, Handler: d.challenge},
		{Path: "/api/v1/capabilities", Class: ratelimit.Read, Handler: d.capabilities},
		{Path: "/api/v1/didcomm-endpoint", Class: ratelimit.Read, Handler: d.endpoint},
	}
	posts := []door.Route{
		{Path: "/api/v1/messages", Class: ratelimit.Deposit, Handler: d.deposit},
		{Path: "/api/v1/messages/fetch", Class: ratelimit.Read, Handler: d.fetch},
		{Path: "/api/v1/messages/remove", Class: ratelimit.Read, Handler: d.remove},
		{Path: "/api/v1/deliver", Class: ratelimit.Deposit, Handler: d.deliver},
	}
	return slices.Concat(by(http.MethodGet, gets), by(http.MethodHead, gets), by(http.MethodPost, posts))
}

// by returns routes for one method.
func by(method string, routes []door.Route) []door.Route {
	routes = slices.Clone(routes)
	for i := range routes {
		routes[i].Method = method
	}
	return routes
}

// Rules are the door's answers to the errors of what is behind it (relay spec
// §2.5). A mailbox that is full is the sender's news, 429; a disk that is full
// or a resolver that is away is this relay's own trouble, 503.
func (d *Door) Rules() []door.Rule {
	return []door.Rule{
		{Is: mailbox.ErrNotEnvelope, Answer: door.Error{Status: http.StatusBadRequest}},
		{Is: did.ErrNotDID, Answer: door.Error{Status: http.StatusBadRequest, Message: "did is not a bare DID"}},
		{Is: auth.ErrChallenge, Answer: door.Error{Status: http.StatusUnauthorized, Message: auth.ErrChallenge.Error()}},
		{Is: auth.ErrAudience, Answer: door.Error{Status: http.StatusUnauthorized, Message: auth.ErrAudience.Error()}},
		{Is: auth.ErrSignature, Answer: door.Error{Status: http.StatusUnauthorized, Message: auth.ErrSignature.Error()}},
		{Is: resolve.ErrUnreachable, Answer: unavailable("the DID cannot be resolved now", 10*time.Second)},
		{Is: storage.ErrNotID, Answer: door.Error{Status: http.StatusBadRequest, Message: "after is not an id of this mailbox"}},
		{Is: storage.ErrFull, Answer: tooMany("mailbox full")},
		{Is: storage.ErrTooManyChallenges, Answer: tooMany(storage.ErrTooManyChallenges.Error())},
		{Is: storage.ErrNoRoom, Answer: unavailable(storage.ErrNoRoom.Error(), time.Minute)},
		{Is: storage.ErrBroken, Answer: unavailable(storage.ErrBroken.Error(), time.Minute)},
		{Is: storage.ErrClosed, Answer: unavailable(storage.ErrClosed.Error(), 10*time.Second)},
		{Is: flight.ErrBusy, Answer: unavailable(flight.ErrBusy.Error(), door.MemoryRetryAfter)},
		{Is: egress.ErrEndpoint, Answer: door.Error{Status: http.StatusBadRequest}},
		{Is: outbound.ErrBusy, Answer: unavailable(outbound.ErrBusy.Error(), 10*time.Second)},
		{Is: outbound.ErrEnding, Answer: unavailable(outbound.ErrEnding.Error(), 10*time.Second)},
		{Is: storage.ErrGone, Answer: unavailable("the mailbox changed while it was read", time.Second)},
	}
}

func tooMany(message string) door.Error {
	return door.Error{Status: http.StatusTooManyRequests, Message: message, RetryAfter: time.Minute}
}

func unavailable(message string, retryAfter time.Duration) door.Error {
	return door.Error{Status: http.StatusServiceUnavailable, Message: message, RetryAfter: retryAfter}
}
