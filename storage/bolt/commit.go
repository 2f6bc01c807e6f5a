package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// commit settles every task. Whatever happens, each is answered.
func (w *writer) commit(tasks []*task) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	all := slices.Clone(tasks)
	defer func() {
		var err error
		guardWith(recover(), &err)
		if err != nil {
			w.fail(slices.DeleteFunc(all, func(t *task) bool { return t.answered }), w.judge(err))
		}
	}()
	w.settle(w.living(tasks), w.settleTight)
}

// living answers the tasks whose callers are gone, or which come too late, and
// returns the others.
func (w *writer) living(tasks []*task) []*task {
	living := tasks[:0]
	for _, t := range tasks {
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

// settle commits tasks in one transaction and answers each of them. A task that
// fails fails alone: the others are committed without it. Those for which there is
// no room are left to tight.
func (w *writer) settle(tasks []*task, tight func([]*task)) {
	for grown := false; len(tasks) > 0; {
		results := make([]error, len(tasks))
		culprit, err := w.try(tasks, results)
		switch {
		case err == nil:
			w.commits.Add(1)
			w.members.Add(int64(len(tasks)))
			for i, t := range tasks {
				t.answer(results[i])
			}
			return
		case culprit >= 0:
			tasks[culprit].answer(err)
			tasks = append(tasks[:culprit], tasks[culprit+1:]...)
		case errors.Is(err, berrors.ErrMaxSizeReached) && !grown:
			// It took more pages than foreseen, as shedding much expired mail
			// does, or there was no long enough run of free ones.
			grown = true
			if w.room.grow(maxGrowth) != nil {
				w.room.tear()
			}
		case lacksRoom(err):
			tight(tasks)
			return
		default:
			w.fail(tasks, w.judge(err))
			return
		}
	}
}

// settleTight settles tasks for which the disk has no room together: first what
// frees pages, in commits as small as the room that is left for them, then each
// deposit by itself.
func (w *writer) settleTight(tasks []*task) {
	for _, t := range tasks {
		if t.frees() {
			w.settle([]*task{t}, w.refuse)
		}
	}
	for _, t := range tasks {
		if !t.frees() {
			w.settleAlone(t)
		}
	}
}

// tightRounds is how often one deposit may shed what has expired for the room it
// lacks, a commit each time: others wait meanwhile.
const tightRounds = 16

// settleAlone sheds what has expired for as long as that is what lacks for t.
func (w *writer) settleAlone(t *task) {
	for range tightRounds {
		w.release()
		if _, err := w.room.limit(t.pages + pagesToCommit); err == nil {
			break
		}
		shed := 0
		sweep := &task{ctx: context.Background(), turn: make(chan turn, 1), work: func(t *txn) (err error) {
			shed, err = t.sweepAll(ackIDs)
			return err
		}}
		if w.settle([]*task{sweep}, w.refuse); (<-sweep.turn).err != nil || shed == 0 {
			break
		}
	}
	w.settle([]*task{t}, w.refuse)
}

// refuse answers tasks for which there is no room.
func (w *writer) refuse(tasks []*task) { w.fail(tasks, storage.ErrNoRoom) }

// release lets bbolt count the pages that the last commit freed: it does so when
// the next transaction begins.
func (w *writer) release() {
	if tx, err := w.store.db.Begin(true); err == nil {
		w.rollback(tx)
		w.note(w.room.look(w.store.db))
	}
}

// fail gives each task the same error.
func (w *writer) fail(tasks []*task, err error) {
	for _, t := range tasks {
		t.answer(err)
	}
}

// try runs tasks in one transaction. A refusal is noted in results and disturbs
// nobody. Any other error of a task names it as the culprit, and nothing is
// committed; nor is it after an error without a culprit. Room is asked for when
// the caps have spoken: a deposit that they refuse must cost no disk.
func (w *writer) try(tasks []*task, results []error) (culprit int, err error) {
	culprit = -1
	defer guard(&err)
	tx, err := w.store.db.Begin(true)
	if err != nil {
		return culprit, err
	}
	defer w.rollback(tx)
	t, err := newTxn(tx, w.store)
	if err != nil {
		return culprit, err
	}
	var pages int64
	for i, task := range tasks {
		switch results[i] = task.work(t); {
		case results[i] == nil:
			pages += task.pages
		case !errors.Is(results[i], storage.ErrFull):
			return i, results[i]
		}
	}
	if !t.dirty() {
		return culprit, nil
	}
	if err := t.finish(w.store.life); err != nil {
		return culprit, err
	}
	return culprit, w.publish(tx, pages)
}

// publish commits within the room that there is for so many pages of deposits;
// for none it is the whole file.
func (w *writer) publish(tx *bbolt.Tx, pages int64) error {
	db, id := w.store.db, tx.ID()
	limit := w.room.size.Load()
	if pages > 0 {
		var err error
		if limit, err = w.room.limit(pages + pagesToCommit); err != nil {
			return err
		}
	}
	db.MaxSize = int(limit)
	if err := tx.Commit(); err != nil {
		if outOfSpace(err) && !published(db, id) {
			return fmt.Errorf("writing: %w: %w", storage.ErrNoRoom, err)
		}
		return err
	}
	w.note(w.room.look(db))
	return nil
}

func outOfSpace(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// published reports whether readers see the transaction: some file systems find
// out that they are full when it is synced.
func published(db *bbolt.DB, id int) (yes bool) {
	err := db.View(func(tx *bbolt.Tx) error {
		yes = tx.ID() >= id
		return nil
	})
	return yes || err != nil
}

// rollback ends a transaction that was not committed.
func (w *writer) rollback(tx *bbolt.Tx) {
	if err := tx.Rollback(); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
		w.note(err)
	}
}

// lacksRoom reports whether err means that the disk had no room, and nothing was
// written that counts.
func lacksRoom(err error) bool {
	return errors.Is(err, storage.ErrNoRoom) || errors.Is(err, berrors.ErrMaxSizeReached)
}

// judge says what a failed commit means to its callers: after any failure but a
// lack of room (a sync that failed, above all) nobody can know what is on the
// disk, so nothing more is written.
func (w *writer) judge(err error) error {
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
