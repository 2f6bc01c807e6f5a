// Package bolt keeps mail and deliveries in one bbolt file, on the disk before anyone is told
// so, and never more of it than its caps allow.
//
// It follows spec/storage.md. It knows no DID and no HTTP; what it is asked to
// keep it keeps as opaque bytes under opaque names.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/challenge"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Options are what Open needs to be told.
type Options struct {
	storage.Options

	// DiskFloor is how many bytes of the disk's free space deposits leave alone.
	DiskFloor int64
	// Log hears of what the disk does; nil is silence.
	Log *slog.Logger

	openFile func(string, int, os.FileMode) (*os.File, error) // for tests of failing writes
}

// Store is an open file.
type Store struct {
	opts       Options
	db         *bbolt.DB
	names      ids.Namer
	deliveries ids.Deliveries
	life       *life
	writer     *writer
	challenges *challenge.Table
	buffers    sync.Pool // of *[pieceBytes]byte, for bodies on their way out
	closeOnce  func() error
}

// openTimeout is how long Open waits for another process to let go of the file.
const openTimeout = time.Second

func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		Timeout:        openTimeout,
		PageSize:       pageBytes,
		FreelistType:   bbolt.FreelistMapType,
		NoFreelistSync: true, // written when closing only: see spec/storage.md
	}
}

// Open opens the store at path, and makes it if there is none; the folder must
// be there. The challenges that were live when the store was closed in order are
// live again, and erased from the file before Open returns.
//
// A file that an older holdmail wrote is brought up to this one's version, which the
// older one then refuses to open.
//
// Open refuses a file that another process has open, that is not a holdmail
// store, that a newer holdmail wrote, or that is damaged, and says which.
func Open(path string, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := open(path, o)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	return s, nil
}

func open(path string, o Options) (_ *Store, err error) {
	if err := create(path); err != nil {
		return nil, err
	}
	if err := inspect(path); err != nil {
		return nil, err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	bo := boltOptions()
	bo.OpenFile = o.openFile
	db, err := bbolt.Open(path, 0o600, bo)
	if err != nil {
		return nil, sayInUse(err)
	}
	s := &Store{opts: o, db: db, challenges: challenge.New(o.Options)}
	s.buffers.New = func() any { return new([pieceBytes]byte) }
	if err := s.start(path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *Store) start(path string) error {
	sweepUnfinished(path)
	s.db.AllocSize = 0 // room grows the file
	if err := upgrade(s.db); err != nil {
		return err
	}
	if err := s.revive(); err != nil {
		return err
	}
	r, err := newRoom(path, s.opts.DiskFloor)
	if err != nil {
		return err
	}
	if err := r.look(s.db); err != nil {
		return errors.Join(err, r.file.Close())
	}
	if err := errors.Join(r.fillHoles(), r.grow(minGrowth)); err != nil {
		s.opts.Log.Warn("the disk has no room for new mail", "err", err)
	}
	s.writer = newWriter(s, r)
	s.closeOnce = sync.OnceValue(s.close)
	return nil
}

// revive reads what the last process left. It writes only where there are
// challenges to erase.
func (s *Store) revive() error {
	var known, waiting bool
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		head := tx.Bucket(headBucket)
		if n := copy(s.names.Secret[:], head.Get(secretKey)); n != ids.SecretBytes {
			return fmt.Errorf("a secret of %d bytes: %w", n, errDamaged)
		}
		s.deliveries.Begin(tx.Bucket(hooksBucket).Sequence())
		waiting = tx.Bucket(challengeBucket) != nil
		s.life, known, err = reviveLife(s.opts.Clock, head.Get(clockKey))
		return err
	})
	if err != nil || !waiting {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error { return s.restoreChallenges(tx, known) })
}

// Mailbox is the store's mail.
func (s *Store) Mailbox() *Mailbox { return &Mailbox{s} }

// Hooks is what the store keeps for webhooks.
func (s *Store) Hooks() *Hooks { return &Hooks{s} }

// Challenges are the store's live challenges. They cost no write.
func (s *Store) Challenges() *challenge.Table { return s.challenges }

// Close finishes what is being written, keeps the live challenges for the next
// Open, and lets go of the file. Calls that are under way, or come later, fail
// with storage.ErrClosed.
//
// Further calls return what the first one did.
func (s *Store) Close() error { return s.closeOnce() }

func (s *Store) close() (err error) {
	s.writer.close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	left := s.challenges.Close()
	if s.writer.broken.Load() == nil {
		err = s.settleDown(left)
	}
	return errors.Join(err, s.writer.room.file.Close(), s.db.Close())
}

// settleDown writes what makes the next start quick and complete: the live
// challenges, and the list of free pages. Without the room for the list, which a
// scan can make again, the challenges alone.
func (s *Store) settleDown(left []challenge.Left) error {
	s.db.MaxSize = int(s.writer.room.size.Load())
	s.db.NoFreelistSync = false
	save := func(tx *bbolt.Tx) error { return s.saveChallenges(tx, left) }
	if err := s.db.Update(save); err == nil {
		return nil
	}
	s.db.NoFreelistSync = true
	if err := s.db.Update(save); err != nil {
		s.opts.Log.Warn("live challenges are lost: the disk has no room for them", "err", err)
	}
	return nil
}

// view reads in a transaction of its own, which fn must not outlive.
func (s *Store) view(fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	if s.writer.isClosed() {
		return storage.ErrClosed
	}
	if err = s.db.View(fn); errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return storage.ErrClosed
	}
	return err
}

// guard turns a panic into an error: bbolt panics over a damaged file, and a
// read of a mapped page that the disk cannot give is a fault.
func guard(err *error) { guardWith(recover(), err) }

func guardWith(panicked any, err *error) {
	if panicked != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, panicked)
	}
}

// Totals is what the store says it holds of mail.
func (s *Store) Totals(context.Context) (t storage.Totals, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		t, err = decodeTotals(tx.Bucket(headBucket).Get(totalsKey))
		return err
	})
	return t, err
}
