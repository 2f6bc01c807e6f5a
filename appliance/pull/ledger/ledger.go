// Package ledger remembers which deliveries were handed over, so that none is
// handed over twice, whatever restarts and whatever a relay does.
//
// It keeps ids and digests, never what was delivered. It never forgets early to
// make room: when it is full it says so.
package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/holdmail/holdmail/appliance/durable"
)

// Keep is how long an entry is remembered: longer than a relay can claim that a
// delivery waited.
const Keep = 8 * 24 * time.Hour

// MaxID is the longest id of a delivery, in bytes.
const MaxID = 64

// room is what one more delivery may take, in bytes: its id twice, with and without
// a count of tries, and its digest.
const room = (1 + MaxID + stamp) + (1 + MaxID + stamp + 1) + (1 + 32 + stamp)

const (
	stamp      = 8 // bytes of a time
	sweepEvery = time.Hour
)

// ErrFull says that no more deliveries can be remembered, before the oldest are
// eight days old.
var ErrFull = errors.New("the ledger is full: deliveries stay at the relay until its oldest entries are eight days old, or it may be larger")

// Ledger is an open file. It is for one goroutine.
type Ledger struct {
	db    *bbolt.DB
	max   int64 // bytes of entries
	bytes int64
	swept time.Time
}

// Open opens the ledger at path, and makes it if there is none; the folder must be
// there. It may hold maxBytes of entries, each of about 120, in a file of up to
// three times that. It refuses a file that another process has open, that is
// another program's, or that is damaged, and says which.
func Open(path string, maxBytes int64) (*Ledger, error) {
	l, err := open(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger %s: %w", path, err)
	}
	return l, nil
}

func open(path string, maxBytes int64) (_ *Ledger, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, PageSize: 4096, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, plain(err)
	}
	l := &Ledger{db: db, max: maxBytes}
	err = errors.Join(l.start(), durable.SyncNames(filepath.Dir(path)))
	if err == nil {
		_, err = l.recount(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// plain says in words what keeps the file from being opened.
func plain(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return errors.New("another holdmail pull has it open")
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return err
	default:
		return fmt.Errorf("it is not a ledger, or damaged: %w", err)
	}
}

// start makes the trees of a new file, and refuses a file of another program.
func (l *Ledger) start() error {
	return l.update(func(tx *bbolt.Tx) error {
		if first, _ := tx.Cursor().First(); first == nil {
			head, errHead := tx.CreateBucket(headTree)
			_, errEntries := tx.CreateBucket(entriesTree)
			if err := errors.Join(errHead, errEntries); err != nil {
				return err
			}
			return head.Put(schemaKey, []byte{schemaVersion})
		}
		head := tx.Bucket(headTree)
		if head == nil || tx.Bucket(entriesTree) == nil {
			return errors.New("it belongs to another program and is left alone")
		}
		if got := head.Get(schemaKey); len(got) != 1 || got[0] != schemaVersion {
			return fmt.Errorf("its version is %v, and this holdmail reads %d", got, schemaVersion)
		}
		return nil
	})
}

// The file's layout: one tree, so that a commit touches few pages.
//
//	holdmail-ledger   schema
//	entries
//	  'i' <id>     -> until
//	  'd' <digest> -> until
//	  't' <id>     -> until, tries
const schemaVersion = 1

var (
	headTree    = []byte("holdmail-ledger")
	entriesTree = []byte("entries")
	schemaKey   = []byte("schema")
)

func idKey(id string) []byte           { return append([]byte{'i'}, id...) }
func triesKey(id string) []byte        { return append([]byte{'t'}, id...) }
func digestKey(digest [32]byte) []byte { return append([]byte{'d'}, digest[:]...) }
func untilValue(until time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(until.UnixMilli()))
}
func (l *Ledger) full() bool             { return l.bytes+room > l.max }
func (l *Ledger) due(now time.Time) bool { return now.Sub(l.swept).Abs() >= sweepEvery }

// Bytes is how much of the bound is taken.
func (l *Ledger) Bytes() (taken, most int64) { return l.bytes, l.max }

// Close lets go of the file.
func (l *Ledger) Close() error { return l.db.Close() }

// update writes in one transaction, which is on the disk when it returns nil.
func (l *Ledger) update(fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	return l.db.Update(fn)
}

func (l *Ledger) view(fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	return l.db.View(fn)
}

// guard turns a panic into an error: bbolt panics over a damaged file, and a read
// of a mapped page that the disk cannot give is a fault.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the ledger is damaged: %v", p)
	}
}
