package mailbox

import (
	"sync"

	"github.com/holdmail/holdmail/storage"
)

// Waiters are the callers who wait for mail: so many at one time and no more. They
// hold a place in memory each, and nothing of the store. They are safe for concurrent
// use; nil lets nobody wait.
type Waiters struct {
	most   int
	crowds chan struct{} // holds one crowd at most
	ended  chan struct{} // closed by End

	mu     sync.Mutex // guards all below
	byName map[string]map[*waiter]struct{}
	number int
	came   int // since the last crowd
	held   storage.Holdings
	over   bool
}

// NewWaiters lets most callers wait at one time.
func NewWaiters(most int) *Waiters {
	return &Waiters{
		most:   most,
		crowds: make(chan struct{}, 1),
		ended:  make(chan struct{}),
		byName: map[string]map[*waiter]struct{}{},
		held:   storage.Holdings{},
	}
}

// crowd is how many callers who came to wait are news.
const crowd = 64

// Crowds tells when that many more callers have come to wait, however many left.
func (w *Waiters) Crowds() <-chan struct{} { return w.crowds }

// Most is how many callers may wait at one time.
func (w *Waiters) Most() int { return w.most }

// waiter waits at one mailbox.
type waiter struct {
	name    string
	holders []storage.Holder
	woken   chan struct{} // holds one call at most: more say nothing new
}

// enter takes a place for one who waits at the mailbox of that name, and counts it
// to the holders. It returns nil when there is none: of all, or of one of the
// holders, or since End.
func (w *Waiters) enter(name string, holders []storage.Holder) *waiter {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.number >= w.most || !w.held.Room(holders) {
		return nil
	}
	one := &waiter{name, holders, make(chan struct{}, 1)}
	if w.byName[name] == nil {
		w.byName[name] = map[*waiter]struct{}{}
	}
	w.byName[name][one] = struct{}{}
	w.number++
	w.held.Add(holders)
	if w.came++; w.came == crowd {
		w.came = 0
		select {
		case w.crowds <- struct{}{}:
		default: // whoever listens has not heard of the last one yet
		}
	}
	return one
}

// leave gives a place back, once.
func (w *Waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byName[one.name], one)
	if len(w.byName[one.name]) == 0 {
		delete(w.byName, one.name)
	}
	w.number--
	w.held.Drop(one.holders)
}

// wake calls all who wait at the mailboxes of these names, and nobody else.
func (w *Waiters) wake(names []string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		for one := range w.byName[name] {
			select {
			case one.woken <- struct{}{}:
			default: // called already, and has not looked yet
			}
		}
	}
}

// End lets all go who wait, and nobody wait from now on.
func (w *Waiters) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.over = true
		close(w.ended)
	}
}
