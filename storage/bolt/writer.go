package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

const (
	// A batch ends at whichever comes first.
	batchTasks = 256
	batchBytes = 4 << 20
)

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
}

// turn is what a waiting task hears: its outcome, or that it is to lead.
type turn struct {
	lead bool
	err  error
}

// frees reports whether the task may use the room that deposits leave alone.
func (t *task) frees() bool { return t.pages == 0 }

func (t *task) answer(err error) { t.turn <- turn{err: err} }

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

	// For the leader alone: how many the last batch had, and what it took.
	last     int
	lastTook time.Duration

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
	w.commit(batch)
	w.last, w.lastTook = len(batch), time.Since(start)
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

// gather adds to first what waits. Those of the last batch have just been told,
// and many come straight back: they are given a moment.
func (w *writer) gather(first *task) []*task {
	batch, bytes := append(make([]*task, 0, w.last+1), first), first.bytes
	start := time.Now()
	for {
		batch, bytes = w.take(batch, bytes)
		if len(batch) >= w.last || len(batch) == batchTasks || bytes >= batchBytes ||
			time.Since(start) >= min(w.lastTook/8, patience) {
			return batch
		}
		runtime.Gosched()
	}
}

// take moves what waits to batch, as far as a batch may go.
func (w *writer) take(batch []*task, bytes int) ([]*task, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 && len(batch) < batchTasks && bytes < batchBytes {
		batch, bytes = append(batch, w.waiting[0]), bytes+w.waiting[0].bytes
		w.waiting = w.waiting[1:]
	}
	return batch, bytes
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

// commit settles every task of the batch.
func (w *writer) commit(batch []*task) {
	batch = w.living(batch)
	if len(batch) == 0 {
		return
	}
	if limit, err := w.limit(batch); err == nil {
		w.settle(batch, limit)
	} else {
		w.commitTight(batch)
	}
}

// living answers the tasks whose callers are gone, or which come too late, and
// returns the others.
func (w *writer) living(batch []*task) []*task {
	living := batch[:0]
	for _, t := range batch {
		switch broken := w.broken.Load(); {
		case broken != nil:
			t.answer(*broken)
		case t.ctx.Err() != nil:
			t.answer(t.ctx.Err())
		default:
			living = append(living, t)
		}
	}
	return living
}

// limit is how far the file may be filled for this batch.
func (w *writer) limit(batch []*task) (int64, error) {
	var pages int64
	for _, t := range batch {
		pages += t.pages
	}
	if pages == 0 {
		return w.room.size.Load(), nil
	}
	return w.room.limit(pages + pagesToCommit)
}

// commitTight settles a batch for which the disk has no room: what frees pages
// goes first, in commits as small as the room left for them; expired mail is
// shed; then each deposit has its own answer.
func (w *writer) commitTight(batch []*task) {
	var deposits []*task
	for _, t := range batch {
		if t.frees() {
			w.settle([]*task{t}, w.room.size.Load())
		} else {
			deposits = append(deposits, t)
		}
	}
	for _, t := range deposits {
		limit, err := w.roomFor(t)
		if err != nil {
			t.answer(err)
			continue
		}
		w.settle([]*task{t}, limit)
	}
}

// roomFor sheds expired mail for as long as that is what lacks for t.
func (w *writer) roomFor(t *task) (limit int64, err error) {
	for {
		w.release()
		if limit, err = w.limit([]*task{t}); err == nil {
			return limit, nil
		}
		shed := 0
		sweep := &task{ctx: context.Background(), turn: make(chan turn, 1), work: func(t *txn) (err error) {
			shed, err = t.sweep(ackIDs)
			return err
		}}
		if w.settle([]*task{sweep}, w.room.size.Load()); (<-sweep.turn).err != nil || shed == 0 {
			return 0, err
		}
	}
}

// release lets bbolt count the pages that the last commit freed: it does so when
// the next transaction begins.
func (w *writer) release() {
	if tx, err := w.store.db.Begin(true); err == nil {
		err = tx.Rollback()
		w.note(errors.Join(err, w.room.look(w.store.db)))
	}
}

// settle commits batch in one transaction and answers each of its tasks. A task
// that fails fails alone: the others are committed without it.
func (w *writer) settle(batch []*task, limit int64) {
	for grown := false; len(batch) > 0; {
		results := make([]error, len(batch))
		culprit, err := w.try(batch, limit, results)
		switch {
		case err == nil:
			w.commits.Add(1)
			w.members.Add(int64(len(batch)))
			for i, t := range batch {
				t.answer(results[i])
			}
			return
		case culprit >= 0:
			batch[culprit].answer(err)
			batch = append(batch[:culprit], batch[culprit+1:]...)
		case errors.Is(err, berrors.ErrMaxSizeReached) && !grown && w.room.grow(maxGrowth) == nil:
			// It took more pages than foreseen, as shedding much expired mail does.
			grown, limit = true, w.room.size.Load()-reserveBytes
		case errors.Is(err, berrors.ErrMaxSizeReached) && len(batch) > 1:
			w.room.torn.Store(max(w.room.free.Load(), 1))
			w.commitTight(batch)
			return
		default:
			w.fail(batch, w.judge(err))
			return
		}
	}
}

// fail gives each task of a batch the same error.
func (w *writer) fail(batch []*task, err error) {
	for _, t := range batch {
		t.answer(err)
	}
}

// try runs batch in one transaction. A refusal is noted in results and disturbs
// nobody. Any other error of a task names it as the culprit, and nothing is
// committed; nor is it after an error without a culprit.
func (w *writer) try(batch []*task, limit int64, results []error) (culprit int, err error) {
	culprit = -1
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	db := w.store.db
	db.MaxSize = int(limit)
	tx, err := db.Begin(true)
	if err != nil {
		return culprit, err
	}
	defer w.rollback(tx)
	t, err := newTxn(tx, w.store)
	if err != nil {
		return culprit, err
	}
	for i, task := range batch {
		if results[i] = task.work(t); results[i] != nil && !errors.Is(results[i], storage.ErrFull) {
			return i, results[i]
		}
	}
	if !t.changed {
		return culprit, nil
	}
	if err := t.finish(w.store.life); err != nil {
		return culprit, err
	}
	if err := tx.Commit(); err != nil {
		return culprit, err
	}
	w.note(w.room.look(db))
	return culprit, nil
}

// rollback ends a transaction that was not committed.
func (w *writer) rollback(tx *bbolt.Tx) {
	if err := tx.Rollback(); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
		w.note(err)
	}
}

// judge says what a failed commit means. Where the disk had no room nothing was
// written that counts. After any other failure (a sync that failed, above all)
// nobody can know what is on the disk, so nothing more is written.
func (w *writer) judge(err error) error {
	switch {
	case errors.Is(err, berrors.ErrMaxSizeReached):
		w.room.torn.Store(max(w.room.free.Load(), 1))
		return fmt.Errorf("the store's file is as large as it may be: %w", storage.ErrNoRoom)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("writing: %w: %w", storage.ErrNoRoom, err)
	}
	broken := fmt.Errorf("%w: %w", storage.ErrBroken, err)
	w.broken.CompareAndSwap(nil, &broken)
	w.log.Error("a write to the store failed; nothing more is written until a restart", "err", err)
	return broken
}

func (w *writer) note(err error) {
	if err != nil {
		w.log.Warn("the store could not be measured", "err", err)
	}
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
