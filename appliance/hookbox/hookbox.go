// Package hookbox keeps webhook deliveries, sealed, for one home computer, which
// takes them on lease and acknowledges them.
//
// It cannot open what it sealed a moment ago, and keeps the hash of an address,
// never the address. It knows nothing of HTTP, nor of who may drain it. Leases and
// the senders who wait for an answer are in memory alone: asking for deliveries
// writes nothing, and after a restart all are handed out anew.
package hookbox

import (
	"context"
	"iter"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// Store is what the hookbox needs of an engine.
type Store interface {
	// Reserve returns an id and a time for a delivery that is to be sealed. Ids sort
	// as text in the order they were reserved and never repeat, whatever restarts
	// and crashes come between. The time is UTC, to the millisecond. It writes nothing.
	Reserve() (id string, received time.Time, err error)

	// Add keeps d. Once it returns nil, d survives a crash. It returns
	// storage.ErrFull or storage.ErrNoRoom, and keeps nothing, if a cap would be
	// passed or the disk has no room; it never evicts.
	Add(ctx context.Context, d storage.Delivery) error

	// List yields what is kept behind that id, or all for "", oldest first by id,
	// and never what has expired. It holds no transaction while the caller has one.
	// After an error it ends.
	List(ctx context.Context, after string) iter.Seq2[storage.Kept, error]

	// Sealed returns the bytes of one, or storage.ErrGone.
	Sealed(ctx context.Context, id string) ([]byte, error)

	// Remove acknowledges: it removes those of ids that are there and returns how
	// many that were. Once it returns nil the removal survives a crash. It works when
	// everything is full.
	Remove(ctx context.Context, ids []string) (removed int, err error)

	// Register replaces the registered addresses. Once it returns nil they survive a
	// crash. Deliveries of an address that is registered no more stay.
	Register(ctx context.Context, hooks []storage.Hook) error

	// Registered returns them.
	Registered(ctx context.Context) ([]storage.Hook, error)

	// Totals is what is held.
	Totals(ctx context.Context) (storage.HookTotals, error)
}

// Sealer closes what only the home computer can open.
type Sealer interface {
	// Seal returns plaintext closed for the home computer, bound to an id and a time.
	Seal(id string, received time.Time, plaintext []byte) ([]byte, error)
}

// Overhead bounds what a seal adds to its plaintext, in bytes.
const Overhead = 2 << 10

const (
	// LeaseFor is how long a delivery is left to whom it was handed out.
	LeaseFor = time.Minute
	// LongestWait is how long a sender waits for the home computer's answer, unless
	// its address has less.
	LongestWait = 9 * time.Second
	// MaxBatch is how many deliveries are handed out at one time.
	MaxBatch = 16
	// BatchBytes is how many sealed bytes that are, unless the first alone is more.
	BatchBytes = 4 << 20
)
