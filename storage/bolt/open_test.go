package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"go.etcd.io/bbolt"
)

func smallOptions() Options {
	return Options{Options: storage.Options{
		Caps:       storage.Caps{RecipientBytes: 64 << 20, TotalBytes: 64 << 20, RecipientMessages: 1 << 20, TotalMessages: 1 << 20, Challenges: 10},
		MessageTTL: time.Hour, ChallengeTTL: time.Minute, Clock: clock.NewFake(time.Now()),
		Hooks:   storage.HookCaps{Deliveries: 1 << 20, Bytes: 64 << 20, HookDeliveries: 1 << 20, HookBytes: 64 << 20},
		HookTTL: time.Hour,
	}}
}

func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// aStore makes a store with a little mail in it and returns its path.
func aStore(t testing.TB, inOrder bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdmail.db")
	s := mustOpen(t, path, smallOptions())
	for i := range 50 {
		s.mustAdd(t, bytes.Repeat([]byte{byte('a' + i%26)}, 100*i), fmt.Sprint("ann", i%7))
	}
	if inOrder {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crashed := path + "-crashed"
	if err := os.WriteFile(crashed, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return crashed
}

func TestOpenRefuses(t *testing.T) {
	write := func(raw []byte) func(*testing.T) string {
		return func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "holdmail.db")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	for _, tt := range []struct {
		name string
		make func(*testing.T) string
		want string // in the error
	}{
		{"an empty file", write(nil), "empty"},
		{"a file of another kind", write(bytes.Repeat([]byte("mail "), 10_000)), "no bbolt file"},
		{"a short file", write([]byte("x")), "no bbolt file"},
		{"a folder", func(t *testing.T) string { return t.TempDir() }, "not a file"},
		{"another program's bbolt file", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "theirs.db")
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }); err != nil {
				t.Fatal(err)
			}
			return path
		}, "another program"},
		{"a newer store", func(t *testing.T) string {
			path := aStore(t, true)
			db, err := bbolt.Open(path, 0o600, boltOptions())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(headBucket).Put(schemaKey, []byte("7")) }); err != nil {
				t.Fatal(err)
			}
			return path
		}, "version 7, and this holdmail reads version 2"},
		{"a store that is cut off", func(t *testing.T) string {
			path := aStore(t, false)
			if err := os.Truncate(path, 5*pageBytes); err != nil {
				t.Fatal(err)
			}
			return path
		}, "cut off"},
		{"a store in a folder that is not there", func(t *testing.T) string {
			return filepath.Join(t.TempDir(), "nowhere", "holdmail.db")
		}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t)
			before, _ := os.ReadFile(path)
			s, err := Open(path, smallOptions())
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v; want a mention of %q and of the path", err, tt.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// A store whose pages were overwritten, as a power cut on a bad card does, is
// refused with an error, or opened if nothing of it was in use; never a panic.
func TestOpenOfDamagedPages(t *testing.T) {
	path := aStore(t, false)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for page := 2; page*pageBytes < min(len(raw), 60*pageBytes); page++ {
		for _, fill := range []byte{0, 0xff} {
			bad := bytes.Clone(raw)
			copy(bad[page*pageBytes:], bytes.Repeat([]byte{fill}, pageBytes))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, smallOptions())
			if err != nil {
				refused++
				continue
			}
			for range s.Mailbox().List(t.Context(), "ann1", "") {
			}
			s.Close()
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

func TestOpenWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	mustOpen(t, path, smallOptions())
	if s, err := Open(path, smallOptions()); !errors.Is(err, ErrInUse) {
		t.Errorf("a second Open = %v, %v; want %v", s, err, ErrInUse)
	}
}

func TestCreateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	if err := os.WriteFile(path+".new-left", []byte("by a power cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			s, err := Open(path, smallOptions())
			if err == nil {
				s.mustAdd(t, []byte("kept"), "ann")
				err = s.Close()
			}
			if err != nil && !errors.Is(err, ErrInUse) {
				t.Errorf("one of four that create: %v", err)
			}
		})
	}
	g.Wait()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 1 {
		t.Errorf("files left: %v, %v; want the store alone", files, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the store's mode is %v, %v; want 0600", st.Mode(), err)
	}
}

// A failed write leaves its outcome unknown: nothing more is written, reading
// goes on, and a restart is well.
func TestFailedWrite(t *testing.T) {
	path := aStore(t, true)
	o := smallOptions()
	o.openFile = func(path string, _ int, mode os.FileMode) (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY, mode) // each write through it fails
	}
	s := mustOpen(t, path, o)
	for range 2 {
		_, err := s.Mailbox().Add(t.Context(), storage.Envelope{Recipients: []string{"ann1"}, Body: []byte("lost")})
		if !errors.Is(err, storage.ErrBroken) {
			t.Fatalf("Add on a failing disk: %v; want %v", err, storage.ErrBroken)
		}
	}
	if err := s.Mailbox().Ready(t.Context()); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Ready on a failing disk: %v; want %v", err, storage.ErrBroken)
	}
	if n := len(listIDs(t, s, "ann1")); n != 7 {
		t.Errorf("%d messages can be read; want 7", n)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	again := mustOpen(t, path, smallOptions())
	again.mustAdd(t, []byte("kept"), "ann1")
	if n := len(listIDs(t, again, "ann1")); n != 8 {
		t.Errorf("%d messages after a restart; want 8", n)
	}
}

func listIDs(t testing.TB, s *Store, recipient string) (ids []string) {
	t.Helper()
	for m, err := range s.Mailbox().List(t.Context(), recipient, "") {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// One task that fails does not fail those in its batch, and leaves nothing.
func TestMemberFailsAlone(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	errMine := errors.New("mine alone")
	tasks := make([]*task, 5)
	for i := range tasks {
		tasks[i] = &task{ctx: t.Context(), turn: make(chan turn, 1), work: func(x *txn) error {
			if _, err := x.file([]owner{ownerOf("ann")}, fmt.Append(nil, "message ", i)); err != nil {
				return err
			}
			if i == 2 {
				return errMine
			}
			return nil
		}}
	}
	s.writer.settle(slices.Clone(tasks), s.writer.refuse)
	for i, task := range tasks {
		if err := (<-task.turn).err; (err == nil) != (i != 2) || err != nil && err != errMine {
			t.Errorf("task %d: %v", i, err)
		}
	}
	if got, err := s.Recount(t.Context()); err != nil || got.Messages != 4 {
		t.Errorf("the store holds %+v, %v; want 4 messages", got, err)
	}
}

// A body that is removed while it is being read ends with an error, not short.
func TestRemovedWhileRead(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	ids := s.mustAdd(t, make([]byte, 10*pieceBytes), "ann")
	for m, err := range s.Mailbox().List(t.Context(), "ann", "") {
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.Body.WriteTo(writerFunc(func(p []byte) (int, error) {
			if _, err := s.Mailbox().Remove(t.Context(), "ann", ids); err != nil {
				t.Error(err)
			}
			return len(p), nil
		}))
		if !errors.Is(err, storage.ErrGone) || n != pieceBytes {
			t.Errorf("WriteTo = %d, %v; want %d and %v", n, err, pieceBytes, storage.ErrGone)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Reading holds no transaction open: while a reader sits on a message, pages that
// others free are used again.
func TestReaderHoldsNothing(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	s.mustAdd(t, make([]byte, 1<<20), "ann")
	for range s.Mailbox().List(t.Context(), "ann", "") {
		for range 200 {
			ids := s.mustAdd(t, make([]byte, 64<<10), "bob")
			if _, err := s.Mailbox().Remove(t.Context(), "bob", ids); err != nil {
				t.Fatal(err)
			}
		}
	}
	if size := s.writer.room.size.Load(); size > 8<<20 {
		t.Errorf("the file grew to %d bytes while 1 MiB was held", size)
	}
}

// A panic while committing breaks the store and leaves nobody waiting.
func TestPanicWhileCommitting(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	err := s.writer.do(t.Context(), &task{work: func(*txn) error { panic("a page of nonsense") }})
	if !errors.Is(err, storage.ErrBroken) {
		t.Errorf("a task that panics: %v; want %v", err, storage.ErrBroken)
	}
	if err := s.writer.do(t.Context(), &task{work: func(*txn) error { return nil }}); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("the task after it: %v; want %v", err, storage.ErrBroken)
	}
	s.writer.room = nil // so that settling itself panics
	s.writer.broken.Store(nil)
	if err := s.writer.do(t.Context(), &task{work: func(x *txn) error { x.changed = true; return nil }}); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("a task amid a bug of the writer: %v; want %v", err, storage.ErrBroken)
	}
	s.writer.room, err = newRoom(s.db.Path(), 0)
	if err != nil {
		t.Fatal(err)
	}
}
