// Package mailbox files sealed envelopes under the DIDs they are addressed to.
//
// It never opens an envelope: its only routing input is the recipient key ids
// (relay spec §4). It knows nothing of HTTP, nor of who may read a mailbox.
package mailbox

import (
	"context"
	"iter"

	"github.com/holdmail/holdmail/storage"
)

// Store is what the mailbox needs of an engine.
type Store interface {
	// Add keeps e for all its recipients or for none, and returns one id per
	// distinct recipient in the order they were named. Once it returns nil they
	// survive a crash. It returns storage.ErrFull or storage.ErrNoRoom, and keeps
	// nothing, if a cap would be passed or the disk has no room; it never evicts.
	Add(ctx context.Context, e storage.Envelope) (ids []string, err error)

	// List yields the recipient's mail in arrival order, never what has expired,
	// and nothing that arrived after the call: all of it, or, if after is an id of
	// the recipient's, what arrived after that message, which may be gone by now. If
	// after is any other text but "", it yields storage.ErrNotID. It holds no
	// transaction while the caller has a message. After an error it ends.
	List(ctx context.Context, recipient, after string) iter.Seq2[storage.Message, error]

	// Remove acknowledges: it removes those of ids that are the recipient's and
	// returns how many there really were, counting what has expired as gone.
	// Unknown and foreign ids are passed over. Once it returns nil the removal
	// survives a crash. It works when everything is full.
	Remove(ctx context.Context, recipient string, ids []string) (removed int, err error)

	// Ready returns nil if a deposit could be kept now, else why not.
	Ready(ctx context.Context) error
}
