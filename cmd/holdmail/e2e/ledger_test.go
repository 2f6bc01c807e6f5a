package e2e

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// fate is what the outside world knows of one recipient's copy of an envelope.
type fate int

const (
	sent  fate = iota // posted; no answer came, so it may be there, once
	kept              // acknowledged by the relay: it must be there
	asked             // its removal was asked for; no answer came
	gone              // its removal was acknowledged: it must never be seen again
	lost              // its answer never came and a later look did not find it
)

func (f fate) String() string {
	return [...]string{"posted without an answer", "acknowledged", "asked to be removed", "removed", "never kept"}[f]
}

// letter is one envelope on its way, as its sender knows it.
type letter struct {
	sender, n int // the n-th of this sender, who waits for each answer
	size      int64
	to        []wallet
}

// entry is one recipient's copy of a letter.
type entry struct {
	*letter
	fate fate
	id   string // "" while nobody has been told
}

// place names an entry: whose it is, and the SHA-256 of its bytes.
type place struct {
	did string
	sum [sha256.Size]byte
}

func placeOf[T string | []byte](w wallet, body T) place {
	return place{w.DID, sha256.Sum256([]byte(body))}
}

// ledger is what clients remember of a relay, against which it is audited.
type ledger struct {
	mu      sync.Mutex // guards entries and what they point to
	entries map[place]*entry
}

func newLedger() *ledger { return &ledger{entries: map[place]*entry{}} }

// posting notes that body is about to be posted.
func (l *ledger) posting(body []byte, sender, n int, to ...wallet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	let := &letter{sender: sender, n: n, size: int64(len(body)), to: to}
	for _, w := range to {
		l.entries[placeOf(w, body)] = &entry{letter: let}
	}
}

// posted notes that body was acknowledged under ids. A recipient may have seen
// it, and even removed it, before its sender heard of it.
func (l *ledger) posted(body []byte, ids []string, to ...wallet) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(ids) != len(to) {
		return fmt.Errorf("%d ids for %d recipients", len(ids), len(to))
	}
	for i, w := range to {
		e := l.entries[placeOf(w, body)]
		if e.id != "" && e.id != ids[i] {
			return fmt.Errorf("fetched as %s, acknowledged as %s", e.id, ids[i])
		}
		e.id = ids[i]
		if e.fate == sent {
			e.fate = kept
		}
	}
	return nil
}

// refused forgets a body that the relay said it did not keep.
func (l *ledger) refused(body []byte, to ...wallet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range to {
		l.entries[placeOf(w, body)].fate = lost
	}
}

// removing notes that w is about to ask for the removal of ms, or (answered)
// that the relay said they are removed.
func (l *ledger) removing(w wallet, ms []message, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range ms {
		e := l.entries[placeOf(w, m.Message)]
		e.fate = asked
		if answered {
			e.fate = gone
		}
	}
}

// seen checks what w fetched: each message was sent to w, by these bytes, under
// this id, is there once, was not removed, and stands in its sender's order.
func (l *ledger) seen(t testing.TB, w wallet, ms []message) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	there, latest := map[*entry]bool{}, map[int]int{}
	for _, m := range ms {
		e := l.entries[placeOf(w, m.Message)]
		if e == nil {
			t.Errorf("fetched %s, %d bytes that nobody sent", m.ID, len(m.Message))
			continue
		}
		if there[e] {
			t.Errorf("letter %d of sender %d is there twice", e.n, e.sender)
		}
		there[e] = true
		if e.fate == gone || e.fate == lost {
			t.Errorf("letter %d of sender %d is there, but was %v", e.n, e.sender, e.fate)
		}
		if e.id != "" && e.id != m.ID {
			t.Errorf("letter %d of sender %d has id %s, was %s", e.n, e.sender, m.ID, e.id)
		}
		e.id = m.ID
		if last, ok := latest[e.sender]; ok && last > e.n {
			t.Errorf("letter %d of sender %d stands after letter %d", e.n, e.sender, last)
		}
		latest[e.sender] = e.n
	}
}

// audit fetches all mail of all wallets from a relay that nobody else uses and
// compares it with the ledger, which from then on knows every fate for sure. It
// returns what each wallet holds.
func (l *ledger) audit(t testing.TB, r *relay, wallets ...wallet) map[string][]message {
	t.Helper()
	held, there := map[string][]message{}, map[place]bool{}
	for _, w := range wallets {
		ms, err := r.fetch(w)
		if err != nil {
			t.Fatalf("fetching: %v\n%s", err, r.log)
		}
		l.seen(t, w, ms)
		for _, m := range ms {
			there[placeOf(w, m.Message)] = true
		}
		held[w.DID] = ms
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allOrNone(t, there)
	for p, e := range l.entries {
		e.settle(t, there[p])
	}
	return held
}

// allOrNone checks that an envelope for two, whose answer was lost, is there for
// both or for neither.
func (l *ledger) allOrNone(t testing.TB, there map[place]bool) {
	t.Helper()
	first := map[*letter]bool{}
	for p, e := range l.entries {
		if e.fate != sent {
			continue
		}
		if other, ok := first[e.letter]; ok && other != there[p] {
			t.Errorf("letter %d of sender %d is there for one recipient only", e.n, e.sender)
		}
		first[e.letter] = there[p]
	}
}

// settle turns what was not known into what an audit saw.
func (e *entry) settle(t testing.TB, there bool) {
	t.Helper()
	switch {
	case there:
		e.fate = kept
	case e.fate == kept:
		t.Errorf("letter %d of sender %d (%d bytes) was acknowledged and is not there", e.n, e.sender, e.size)
	case e.fate == sent:
		e.fate = lost
	case e.fate == asked:
		e.fate = gone
	}
}

// totals is what a relay must hold by this ledger.
func (l *ledger) totals() (t storage.Totals) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.fate == kept {
			t.Bytes, t.Messages = t.Bytes+e.size, t.Messages+1
		}
	}
	return t
}

// count returns how many copies have the fate f.
func (l *ledger) count(f fate) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.fate == f {
			n++
		}
	}
	return n
}
