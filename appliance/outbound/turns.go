package outbound

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/storage"
)

var (
	// ErrBusy: as many deliveries, or bytes of them, are under way as may be, of all
	// or of one of those that this one would count to.
	ErrBusy = errors.New("too many deliveries are under way")
	// ErrEnding: the delivery was given up because this relay stops. It may have
	// arrived.
	ErrEnding = errors.New("this relay is stopping")
)

// Turns bound the deliveries that are under way at one time: each holds an envelope
// in memory for as long as another relay likes. They are safe for concurrent use.
type Turns struct {
	most   int
	memory Memory
	ended  context.Context
	end    context.CancelFunc

	mu     sync.Mutex // guards the rest
	number int
	held   storage.Holdings
}

// Memory is what the envelopes of deliveries under way may take.
type Memory struct {
	*flight.Budget       // of them alone
	Share          int64 // bytes of it that one customer's may take

	// Waiting is to whom they count in the memory that all requests share, while
	// they wait for other relays: the next deposit of the same caller must not wait
	// for them too.
	Waiting flight.Holder
}

// NewTurns lets most deliveries be under way at one time, whose envelopes memory
// has room for.
func NewTurns(most int, memory Memory) *Turns {
	t := &Turns{most: most, memory: memory, held: storage.Holdings{}}
	t.ended, t.end = context.WithCancel(context.Background())
	return t
}

// Most is how many deliveries may be under way at one time.
func (t *Turns) Most() int { return t.most }

// End gives up all deliveries that are under way, and lets none begin.
func (t *Turns) End() { t.end() }

// take begins a delivery of an envelope of so many bytes, and counts it to the
// holders. Its context ends with ErrEnding at the End. The caller must be done.
func (t *Turns) take(ctx context.Context, bytes int64, holders []storage.Holder) (_ context.Context, done func(), err error) {
	if t.ended.Err() != nil {
		return nil, nil, ErrEnding
	}
	if !t.enter(holders) {
		return nil, nil, ErrBusy
	}
	load := t.memory.Begin(func() {}, flight.Holder{Name: customer(holders), Most: t.memory.Share})
	load.Settle() // a delivery is not given up for another
	if err := cmp.Or(busy(load.Hold(bytes)), flight.Of(ctx).Move(t.memory.Waiting)); err != nil {
		load.Release()
		t.leave(holders)
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(t.ended, func() { cancel(ErrEnding) })
	return ctx, func() {
		unbind()
		cancel(nil)
		load.Release()
		t.leave(holders)
	}, nil
}

// busy is ErrBusy for what does not fit.
func busy(err error) error {
	if err == nil {
		return nil
	}
	return ErrBusy
}

// customer is the widest of the holders, who come in that order. Those who are
// nobody's are one.
func customer(holders []storage.Holder) string {
	if len(holders) == 0 {
		return "anybody"
	}
	return holders[len(holders)-1].Name
}

func (t *Turns) enter(holders []storage.Holder) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number >= t.most || !t.held.Room(holders) {
		return false
	}
	t.number++
	t.held.Add(holders)
	return true
}

func (t *Turns) leave(holders []storage.Holder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number--
	t.held.Drop(holders)
}
