// Package memory keeps mail and deliveries in this process and forgets them at its
// end. It is for trying things and for tests; it keeps every other promise of an
// engine.
package memory

import (
	"bytes"
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/challenge"
	"github.com/holdmail/holdmail/storage/ids"
)

// Store is a store in memory.
type Store struct {
	opts       storage.Options
	names      ids.Namer
	deliveries ids.Deliveries
	challenges *challenge.Table

	mu     sync.Mutex // guards all below
	filed  uint64     // envelopes so far; numbers them
	order  list.List  // of *envelope, in arrival order, which is the order of expiry
	boxes  map[string]*box
	held   storage.Totals
	hooks  hooks
	closed bool
}

// envelope is a body and those who have not removed it yet.
type envelope struct {
	number   uint64
	born     time.Duration // on the clock's Elapsed
	received time.Time
	body     []byte
	ids      map[string]string // by recipient
	place    *list.Element     // in order
}

// box is one recipient's mail.
type box struct {
	byID  map[string]*list.Element
	order list.List // of *envelope
	bytes int64
}

// New returns an empty store.
func New(o storage.Options) *Store {
	s := &Store{opts: o, challenges: challenge.New(o), boxes: map[string]*box{}, hooks: hooks{boxes: map[storage.Hook]storage.HookTotals{}}}
	rand.Read(s.names.Secret[:]) // never fails
	return s
}

// Mailbox is the store's mail.
func (s *Store) Mailbox() *Mailbox { return &Mailbox{s} }

// Hooks is what the store keeps for webhooks.
func (s *Store) Hooks() *Hooks { return &Hooks{s} }

// Challenges are the store's live challenges.
func (s *Store) Challenges() *challenge.Table { return s.challenges }

// Close ends the store; later calls fail with storage.ErrClosed.
func (s *Store) Close() error {
	s.challenges.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.boxes, s.held, s.hooks = nil, storage.Totals{}, hooks{}
	s.order.Init()
	return nil
}

// Totals is what the store says it holds.
func (s *Store) Totals(context.Context) (storage.Totals, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, nil
}

// Recount counts all mail anew. It returns an error if that differs from a
// mailbox's totals or from the store's.
func (s *Store) Recount(context.Context) (sum storage.Totals, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		var bytes int64
		for at := b.order.Front(); at != nil; at = at.Next() {
			bytes += int64(len(at.Value.(*envelope).body))
		}
		if bytes != b.bytes || len(b.byID) != b.order.Len() {
			return sum, fmt.Errorf("a mailbox of %d bytes says it has %d", bytes, b.bytes)
		}
		sum.Bytes, sum.Messages = sum.Bytes+bytes, sum.Messages+int64(b.order.Len())
	}
	if sum != s.held {
		return sum, fmt.Errorf("the store holds %+v and says %+v", sum, s.held)
	}
	return sum, nil
}

// Mailbox keeps mail in memory.
type Mailbox struct{ store *Store }

// Add keeps e for all its recipients or for none, and returns one id for each
// distinct recipient in the order they were named. It returns storage.ErrFull if
// a cap would be passed; it never evicts.
func (m *Mailbox) Add(ctx context.Context, e storage.Envelope) ([]string, error) {
	s := m.store
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	recipients := distinct(e.Recipients)
	if len(recipients) == 0 {
		return nil, errors.New("an envelope for nobody")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("filing an envelope: %w", storage.ErrClosed)
	}
	if err := s.fit(recipients, int64(len(e.Body))); err != nil {
		return nil, fmt.Errorf("filing an envelope: %w", err)
	}
	return s.file(recipients, bytes.Clone(e.Body)), nil
}

func distinct(recipients []string) (some []string) {
	seen := map[string]bool{}
	for _, r := range recipients {
		if !seen[r] {
			seen[r] = true
			some = append(some, r)
		}
	}
	return some
}

// fit makes a deposit fit the caps by shedding what has expired, or says why it
// does not fit.
func (s *Store) fit(recipients []string, size int64) error {
	now := s.opts.Clock.Elapsed()
	for at := s.order.Front(); at != nil && s.expired(at.Value.(*envelope), now); at = s.order.Front() {
		s.shed(at.Value.(*envelope))
	}
	for _, r := range recipients {
		var bytes, messages int64
		if b := s.boxes[r]; b != nil {
			bytes, messages = b.bytes, int64(b.order.Len())
		}
		if bytes+size > s.opts.Caps.RecipientBytes || messages >= s.opts.Caps.RecipientMessages {
			return fmt.Errorf("a mailbox: %w", storage.ErrFull)
		}
	}
	n := int64(len(recipients))
	if s.held.Bytes+n*size > s.opts.Caps.TotalBytes || s.held.Messages+n > s.opts.Caps.TotalMessages {
		return fmt.Errorf("the store: %w", storage.ErrFull)
	}
	return nil
}

func (s *Store) expired(e *envelope, now time.Duration) bool { return now-e.born >= s.opts.MessageTTL }

func (s *Store) file(recipients []string, body []byte) (ids []string) {
	s.filed++
	e := &envelope{
		number:   s.filed,
		born:     s.opts.Clock.Elapsed(),
		received: s.opts.Clock.Now().UTC().Truncate(time.Millisecond),
		body:     body,
		ids:      map[string]string{},
	}
	e.place = s.order.PushBack(e)
	for _, r := range recipients {
		b := s.boxes[r]
		if b == nil {
			b = &box{byID: map[string]*list.Element{}}
			s.boxes[r] = b
		}
		id := s.names.ID(ownerOf(r), e.number)
		e.ids[r], ids = id, append(ids, id)
		b.byID[id] = b.order.PushBack(e)
		b.bytes += int64(len(body))
		s.held.Bytes, s.held.Messages = s.held.Bytes+int64(len(body)), s.held.Messages+1
	}
	return ids
}

func (s *Store) shed(e *envelope) {
	for r := range e.ids {
		s.leave(e, r)
	}
}

// leave removes one recipient's copy of e, and e with the last.
func (s *Store) leave(e *envelope, recipient string) {
	b, id := s.boxes[recipient], e.ids[recipient]
	b.order.Remove(b.byID[id])
	delete(b.byID, id)
	delete(e.ids, recipient)
	b.bytes -= int64(len(e.body))
	s.held.Bytes, s.held.Messages = s.held.Bytes-int64(len(e.body)), s.held.Messages-1
	if b.order.Len() == 0 {
		delete(s.boxes, recipient)
	}
	if len(e.ids) == 0 {
		s.order.Remove(e.place)
	}
}

// Remove removes those of ids that are the recipient's and returns how many there
// were; expired ones go too, uncounted.
func (m *Mailbox) Remove(_ context.Context, recipient string, ids []string) (removed int, err error) {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fmt.Errorf("removing: %w", storage.ErrClosed)
	}
	now := s.opts.Clock.Elapsed()
	for _, id := range ids {
		b := s.boxes[recipient]
		if b == nil {
			break
		}
		if at, ok := b.byID[id]; ok {
			e := at.Value.(*envelope)
			s.leave(e, recipient)
			if !s.expired(e, now) {
				removed++
			}
		}
	}
	return removed, nil
}

// List yields the recipient's mail in arrival order, never what has expired, and
// nothing that arrived after it began: all of it, or, if after is an id of the
// recipient's, what arrived after that message, which may be gone. Any other text
// is storage.ErrNotID. No lock is held while the caller has a message. After an
// error it ends.
func (m *Mailbox) List(ctx context.Context, recipient, after string) iter.Seq2[storage.Message, error] {
	return func(yield func(storage.Message, error) bool) {
		last, ok := m.place(recipient, after)
		if !ok {
			yield(storage.Message{}, fmt.Errorf("listing: %w", storage.ErrNotID))
			return
		}
		for _, e := range m.store.waiting(recipient, last) {
			if err := ctx.Err(); err != nil {
				yield(storage.Message{}, err)
				return
			}
			if msg, ok, err := m.store.message(e, recipient); err != nil {
				yield(storage.Message{}, err)
				return
			} else if ok && !yield(msg, nil) {
				return
			}
		}
		if m.store.isClosed() {
			yield(storage.Message{}, fmt.Errorf("listing: %w", storage.ErrClosed))
		}
	}
}

// place is the number of an id of the recipient's, or the beginning for "".
func (m *Mailbox) place(recipient, id string) (number uint64, ok bool) {
	if id == "" {
		return 0, true
	}
	return m.store.names.Sequence(ownerOf(recipient), id)
}

func ownerOf(recipient string) ids.Owner { return sha256.Sum256([]byte(recipient)) }

// waiting is the recipient's mail that was filed after an envelope of that number.
func (s *Store) waiting(recipient string, after uint64) (all []*envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[recipient]
	if b == nil {
		return nil
	}
	for at := b.order.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*envelope); e.number > after {
			all = append(all, e)
		}
	}
	return all
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// message is the recipient's copy of e, if it still has one.
func (s *Store) message(e *envelope, recipient string) (msg storage.Message, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return msg, false, fmt.Errorf("listing: %w", storage.ErrClosed)
	}
	id, ok := e.ids[recipient]
	if !ok || s.expired(e, s.opts.Clock.Elapsed()) {
		return msg, false, nil
	}
	return storage.Message{ID: id, Received: e.received, Size: int64(len(e.body)), Body: bytes.NewReader(e.body)}, true, nil
}

// Ready returns nil until the store is closed.
func (m *Mailbox) Ready(context.Context) error {
	if m.store.isClosed() {
		return storage.ErrClosed
	}
	return nil
}
