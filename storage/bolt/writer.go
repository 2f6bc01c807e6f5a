package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"

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

// task is one caller's part of a commit.
type task struct {
	work  func(*txn) error
	bytes int   // of the bodies it brings
	pages int64 // it may take at most; none for one that frees pages
	ctx   context.Context
	done  chan error
}

// frees reports whether the task may use the room that deposits leave alone.
func (t *task) frees() bool { return t.pages == 0 }

// writer owns every write to the file. One goroutine gathers what arrives while
// a commit is being synced and puts it into the next: alone a task is committed at
// once, and a crowd shares its two syncs. No caller is told before the sync
// returned.
type writer struct {
	store *Store
	room  *room
	log   *slog.Logger

	tasks   chan *task // unbuffered: what was sent was taken
	stop    chan struct{}
	stopped chan struct{}
	broken  atomic.Pointer[error] // set once, by a failed commit of unknown outcome

	commits, members atomic.Int64 // for benchmarks: members/commits is the mean batch
}

// do has t committed, alone or with others, and returns what came of it. Once it
// took a task it waits for the disk, whatever ctx does: an outcome must not be
// guessed at.
func (w *writer) do(ctx context.Context, t *task) error {
	t.ctx, t.done = ctx, make(chan error, 1)
	select {
	case w.tasks <- t:
		return <-t.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stop:
		return storage.ErrClosed
	}
}

// run commits batches until stop is closed.
func (w *writer) run() {
	defer close(w.stopped)
	debug.SetPanicOnFault(true) // see guard
	last := 1
	for {
		select {
		case t := <-w.tasks:
			batch := w.gather(t, last)
			last = len(batch)
			w.commit(batch)
		case <-w.stop:
			return
		}
	}
}

// gather adds to first what waits already. Those who were in the last batch have
// just been told, and many come straight back: while they keep coming, let them.
func (w *writer) gather(first *task, last int) []*task {
	batch, bytes := append(make([]*task, 0, last+1), first), first.bytes
	for idle := 0; idle < 3 && len(batch) < batchTasks && bytes < batchBytes; {
		select {
		case t := <-w.tasks:
			batch, bytes, idle = append(batch, t), bytes+t.bytes, 0
			continue
		default:
		}
		if len(batch) >= last {
			break
		}
		idle++
		runtime.Gosched()
	}
	return batch
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
			t.done <- *broken
		case t.ctx.Err() != nil:
			t.done <- t.ctx.Err()
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
			t.done <- err
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
		copies := 0
		shed := &task{ctx: context.Background(), done: make(chan error, 1), work: func(t *txn) (err error) {
			copies, err = t.shedExpired(t.oldest())
			return err
		}}
		if w.settle([]*task{shed}, w.room.size.Load()); <-shed.done != nil || copies == 0 {
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
				t.done <- results[i]
			}
			return
		case culprit >= 0:
			batch[culprit].done <- err
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
		t.done <- err
	}
}

// try runs batch in one transaction. A refusal is noted in results and disturbs
// nobody. Any other error of a task names it as the culprit, and nothing is
// committed; nor is it after an error without a culprit.
func (w *writer) try(batch []*task, limit int64, results []error) (culprit int, err error) {
	culprit = -1
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
	select {
	case <-w.stop:
		return storage.ErrClosed
	default:
	}
	if broken := w.broken.Load(); broken != nil {
		return *broken
	}
	return w.room.ready()
}
