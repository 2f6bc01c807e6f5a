// Package challenge keeps the live challenges of a relay in memory: each may be
// consumed once, for as long as it lives, and their number is bounded, in all and
// for each that holds them.
//
// It touches no disk, so that polling wears no card out; an engine that wants
// them to survive an orderly restart keeps what Close returns and gives it back
// to Restore. It does not know what a challenge is for.
package challenge

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// Table is a set of live challenges.
type Table struct {
	max   int
	ttl   time.Duration
	clock storage.Clock

	mu     sync.Mutex // guards all below
	live   map[string]*list.Element
	order  list.List // of entry; one TTL for all, so the oldest dies first
	held   storage.Holdings
	closed bool
}

type entry struct {
	text    string
	dies    time.Duration // on the clock's Elapsed
	holders []storage.Holder
}

// Left is a challenge that was live when a table was closed.
type Left struct {
	Text string
	Life time.Duration // what it had left, above zero
}

// New returns an empty table that holds at most o.Caps.Challenges challenges,
// each for o.ChallengeTTL of elapsed time.
func New(o storage.Options) *Table {
	return &Table{max: o.Caps.Challenges, ttl: o.ChallengeTTL, clock: o.Clock, live: map[string]*list.Element{}, held: storage.Holdings{}}
}

// Issue makes text live, and counts it to each of the holders until it is
// consumed or expires. It returns storage.ErrTooManyChallenges when as many are
// live as may be, or one of the holders has its most, expired ones not counted,
// and storage.ErrClosed after Close.
func (t *Table) Issue(_ context.Context, text string, holders ...storage.Holder) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("issuing a challenge: %w", storage.ErrClosed)
	}
	now := t.clock.Elapsed()
	t.sweep(now)
	if len(t.live) >= t.max || !t.held.Room(holders) {
		return fmt.Errorf("issuing a challenge: %w", storage.ErrTooManyChallenges)
	}
	t.add(entry{text, now + t.ttl, slices.Clone(holders)})
	return nil
}

// Consume ends the life of text and reports whether it was live. Of any number
// of concurrent calls for one text at most one is told true. After Close it
// returns storage.ErrClosed.
func (t *Table) Consume(_ context.Context, text string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false, fmt.Errorf("consuming a challenge: %w", storage.ErrClosed)
	}
	e, known := t.live[text]
	if !known {
		return false, nil
	}
	t.drop(e)
	return e.Value.(entry).dies > t.clock.Elapsed(), nil
}

// Close ends the table and returns what was live, oldest first. Nothing can be
// consumed after it, so what it returns is good to be restored.
func (t *Table) Close() []Left {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	now := t.clock.Elapsed()
	t.sweep(now)
	left := make([]Left, 0, len(t.live))
	for e := t.order.Front(); e != nil; e = e.Next() {
		c := e.Value.(entry)
		left = append(left, Left{Text: c.text, Life: c.dies - now})
	}
	return left
}

// Restore makes live again what an earlier table's Close returned, oldest
// first, as far as the ceiling allows. Nobody holds them: who did was not kept.
// Whoever calls it must have made sure that it can never be restored a second
// time.
func (t *Table) Restore(left []Left) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Elapsed()
	for _, c := range left {
		if c.Life > 0 && len(t.live) < t.max {
			t.add(entry{text: c.Text, dies: now + min(c.Life, t.ttl)})
		}
	}
}

func (t *Table) add(c entry) {
	if e, known := t.live[c.text]; known {
		t.drop(e)
	}
	t.live[c.text] = t.order.PushBack(c)
	t.held.Add(c.holders)
}

func (t *Table) drop(e *list.Element) {
	c := t.order.Remove(e).(entry)
	delete(t.live, c.text)
	t.held.Drop(c.holders)
}

// sweep collects what has expired: writes are the only thing that grows the
// table, so they alone need to sweep it (relay spec §5.1).
func (t *Table) sweep(now time.Duration) {
	for e := t.order.Front(); e != nil && e.Value.(entry).dies <= now; e = t.order.Front() {
		t.drop(e)
	}
}
