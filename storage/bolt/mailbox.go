package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

// Mailbox keeps mail in the store's file.
type Mailbox struct{ store *Store }

// Add keeps e for all its recipients or for none, and returns one id for each
// distinct recipient in the order they were named. Once it returns nil they are
// on the disk. It returns storage.ErrFull if a cap would be passed,
// storage.ErrNoRoom if the disk has no room; it never evicts.
func (m *Mailbox) Add(ctx context.Context, e storage.Envelope) ([]string, error) {
	owners := distinctOwners(e.Recipients)
	if len(owners) == 0 {
		return nil, errors.New("an envelope for nobody")
	}
	if int64(len(e.Body)) > maxBodyBytes {
		return nil, fmt.Errorf("a body of %d bytes: %w", len(e.Body), storage.ErrFull)
	}
	var filed sequence
	err := m.store.writer.do(ctx, &task{
		bytes: len(e.Body),
		pages: pagesToFile(len(e.Body), len(owners)),
		work: func(t *txn) (err error) {
			filed, err = t.file(owners, e.Body)
			return err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("filing an envelope: %w", err)
	}
	ids := make([]string, len(owners))
	for i, o := range owners {
		ids[i] = m.store.names.ID(o, uint64(filed))
	}
	return ids, nil
}

// maxBodyBytes is what a piece's number and a record's size can count.
const maxBodyBytes = 1 << 30

func distinctOwners(recipients []string) []owner {
	owners := make([]owner, 0, len(recipients))
	seen := make(map[owner]bool, len(recipients))
	for _, r := range recipients {
		if o := ownerOf(r); !seen[o] {
			seen[o] = true
			owners = append(owners, o)
		}
	}
	return owners
}

// ackIDs is how many ids one commit acknowledges at most: what their pages take
// must fit into the room that deposits leave alone.
const ackIDs = 64

// Remove acknowledges: it removes those of ids that are the recipient's and
// returns how many there were; expired ones go too, uncounted. Once it returns
// nil the removal is on the disk. It works when everything is full.
//
// After an error some of ids may be removed; asking again is safe.
func (m *Mailbox) Remove(ctx context.Context, recipient string, ids []string) (removed int, err error) {
	o := ownerOf(recipient)
	var at []sequence
	for _, id := range ids {
		if q, ok := m.store.names.Sequence(o, id); ok {
			at = append(at, sequence(q))
		}
	}
	for len(at) > 0 {
		n := min(len(at), ackIDs)
		some, err := m.acknowledge(ctx, o, at[:n])
		if err != nil {
			return removed, fmt.Errorf("removing: %w", err)
		}
		removed += some
		at = at[n:]
	}
	return removed, nil
}

func (m *Mailbox) acknowledge(ctx context.Context, o owner, at []sequence) (removed int, err error) {
	err = m.store.writer.do(ctx, &task{
		work: func(t *txn) error {
			removed = 0
			for _, q := range at {
				was, err := t.acknowledge(o, q)
				if err != nil {
					return err
				}
				if was {
					removed++
				}
			}
			return nil
		},
	})
	return removed, err
}

// List yields the recipient's mail in arrival order, never what has expired, and
// nothing that arrived after it began: all of it, or, if after is an id of the
// recipient's, what arrived after that message, which may be gone. Any other text
// is storage.ErrNotID. Each message is copied out (a large body piece by piece)
// before the caller sees it, so no transaction is open while the caller has it.
// After an error it ends.
func (m *Mailbox) List(ctx context.Context, recipient, after string) iter.Seq2[storage.Message, error] {
	return func(yield func(storage.Message, error) bool) {
		o := ownerOf(recipient)
		last, ok := m.place(o, after)
		if !ok {
			yield(storage.Message{}, fmt.Errorf("listing: %w", storage.ErrNotID))
			return
		}
		var until sequence
		for first := true; ; first = false {
			if err := ctx.Err(); err != nil {
				yield(storage.Message{}, err)
				return
			}
			var msg storage.Message
			found := false
			err := m.store.view(func(tx *bbolt.Tx) (err error) {
				if first {
					until = sequence(tx.Bucket(logBucket).Sequence())
				}
				msg, last, found, err = m.next(tx, o, last, until)
				return err
			})
			if err != nil {
				yield(storage.Message{}, fmt.Errorf("listing: %w", err))
				return
			}
			if !found || !yield(msg, nil) {
				return
			}
		}
	}
}

// place is where an id of the owner's stands, or the beginning for "".
func (m *Mailbox) place(o owner, id string) (at sequence, ok bool) {
	if id == "" {
		return 0, true
	}
	q, ok := m.store.names.Sequence(o, id)
	return sequence(q), ok
}

// next finds the owner's first unexpired message after one sequence and not
// after another.
func (m *Mailbox) next(tx *bbolt.Tx, o owner, after, until sequence) (msg storage.Message, at sequence, found bool, err error) {
	lived := m.store.life.age()
	log, c := tx.Bucket(logBucket), tx.Bucket(mailBucket).Cursor()
	for k, _ := c.Seek(o.entryKey(after + 1)); bytes.HasPrefix(k, o[:]); k, _ = c.Next() {
		at = sequence(binary.BigEndian.Uint64(k[len(o):]))
		if at > until { // the totals do, too
			break
		}
		r, err := decodeRecord(log.Get(at.key()))
		if err != nil {
			return storage.Message{}, at, false, err
		}
		if r.expired(lived, m.store.opts.MessageTTL) {
			continue
		}
		return m.message(o, at, r), at, true, nil
	}
	return storage.Message{}, at, false, nil
}

func (m *Mailbox) message(o owner, at sequence, r record) storage.Message {
	msg := storage.Message{
		ID:       m.store.names.ID(o, uint64(at)),
		Received: time.UnixMilli(r.received).UTC(),
		Size:     int64(r.size),
	}
	if r.apart {
		msg.Body = apartBody{m.store, at, msg.Size}
	} else {
		msg.Body = bytes.NewReader(bytes.Clone(r.body))
	}
	return msg
}

// Ready returns nil if a deposit could be kept now, else why not.
func (m *Mailbox) Ready(context.Context) error { return m.store.writer.ready() }
