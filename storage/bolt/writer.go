package bolt

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdmail/holdmail/storage"
)

const (
	// A batch ends at whichever comes first.
	batchTasks = 256
	batchBytes = 4 << 20
	batchPages = 2048
)

// CommitBytes is how much of bodies one commit copies at most, when the largest is
// of so many bytes. There is one commit at a time.
func CommitBytes(largest int64) int64 { return batchBytes + largest }

// patience is how long a leader waits at most for the members of the last batch
// to come back: an eighth of what that batch took, and no more than this.
const patience = 200 * time.Microsecond

// task is one caller's part of a commit.
type task struct {
	work  func(*txn) error
	bytes int   // of the bodies it brings
	pages int64 // it may take at most; none for one that frees pages
	ctx   context.Context
	turn  chan turn

	answered bool // for the leader alone
}

// turn is what a waiting task hears: its outcome, or that it is to lead.
type turn struct {
	lead bool
	err  error
}

// frees reports whether the task may use the room that deposits leave alone.
func (t *task) frees() bool { return t.pages == 0 }

// answer tells the task's caller what came of it.
func (t *task) answer(err error) {
	t.answered = true
	t.turn <- turn{err: err}
}

// writer owns every write to the file: one commit at a time. The caller who finds
// nobody committing leads: it commits what waits together with its own task, and
// then hands over to the first who came meanwhile. So alone a task is committed at
// once, by its own goroutine, and a crowd shares the two syncs of a commit. No
// caller is told before the sync returned.
type writer struct {
	store *Store
	room  *room
	log   *slog.Logger

	mu      sync.Mutex // guards the next four
	idle    *sync.Cond // signalled when nobody leads any more
	waiting []*task
	leading bool
	closed  bool

	// For the leader alone: how many the last batch had, when it ended, what it took.
	last      int
	lastEnded time.Time
	lastTook  time.Duration

	broken           atomic.Pointer[error] // set once, by a failed commit of unknown outcome
	commits, members atomic.Int64          // members/commits is the mean batch
}

func newWriter(s *Store, r *room) *writer {
	w := &writer{store: s, room: r, log: s.opts.Log}
	w.idle = sync.NewCond(&w.mu)
	return w
}

// do has t committed, alone or with others, and returns what came of it. It waits
// for the disk, whatever ctx does: an outcome must not be guessed at. A task whose
// ctx has ended before its commit begins is not committed.
func (w *writer) do(ctx context.Context, t *task) error {
	t.ctx, t.turn = ctx, make(chan turn, 1)
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return storage.ErrClosed
	case w.leading:
		w.waiting = append(w.waiting, t)
		w.mu.Unlock()
		if now := <-t.turn; !now.lead {
			return now.err
		}
	default:
		w.leading = true
		w.mu.Unlock()
	}
	w.lead(t)
	return (<-t.turn).err
}

// lead commits a batch with t in it and hands over.
func (w *writer) lead(t *task) {
	defer w.handOver()
	batch := w.gather(t)
	start := time.Now()
	w.commit(batch.tasks)
	w.last, w.lastEnded = len(batch.tasks), time.Now()
	w.lastTook = w.lastEnded.Sub(start)
}

func (w *writer) handOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.leading = false
		w.idle.Broadcast()
		return
	}
	next := w.waiting[0]
	w.waiting = w.waiting[1:]
	next.turn <- turn{lead: true}
}

// gather makes a batch of first and what waits. Those of the last batch have just
// been told, and many come straight back: they are given a moment.
func (w *writer) gather(first *task) *batch {
	b := &batch{}
	b.add(first)
	start := time.Now()
	moment := min(w.lastTook/8, patience)
	if start.Sub(w.lastEnded) > moment {
		moment = 0 // whoever wanted to come back has
	}
	for {
		w.take(b)
		if len(b.tasks) >= w.last || b.full() || time.Since(start) >= moment {
			return b
		}
		runtime.Gosched()
	}
}

// take moves what waits to b, as far as it goes.
func (w *writer) take(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 && !b.full() {
		b.add(w.waiting[0])
		w.waiting = w.waiting[1:]
	}
}

// batch is what is committed together.
type batch struct {
	tasks []*task
	bytes int
	pages int64
}

func (b *batch) add(t *task) {
	b.tasks, b.bytes, b.pages = append(b.tasks, t), b.bytes+t.bytes, b.pages+t.pages
}

func (b *batch) full() bool {
	return len(b.tasks) >= batchTasks || b.bytes >= batchBytes || b.pages >= batchPages
}

// close ends the writing: what is under way or waits is committed, later tasks
// are refused.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.leading {
		w.idle.Wait()
	}
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// ready returns nil if a deposit could be kept now.
func (w *writer) ready() error {
	if w.isClosed() {
		return storage.ErrClosed
	}
	if broken := w.broken.Load(); broken != nil {
		return *broken
	}
	return w.room.ready()
}
