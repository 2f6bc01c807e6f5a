package bolt_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/bolt"
	"github.com/holdmail/holdmail/storage/storagetest"
)

func open(t testing.TB, path string, o storage.Options) storagetest.Engine {
	t.Helper()
	s, err := bolt.Open(path, bolt.Options{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return storagetest.Engine{Mail: s.Mailbox(), Challenges: s.Challenges(), Ledger: s, Hooks: s.Hooks(), HookLedger: s.Hooks(), Close: s.Close}
}

// openNew opens a store at a place of its own.
func openNew(t testing.TB, o storage.Options) storagetest.Engine {
	folder, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Join(folder, "holdmail.db"), o)
}

func TestBolt(t *testing.T) { storagetest.Run(t, openNew) }

func TestBoltHooks(t *testing.T) { storagetest.RunHooks(t, openNew) }

// durable is a place for a store that stops, crashes and starts again.
func durable(t testing.TB) storagetest.Durable {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	return storagetest.Durable{
		Open:  func(t testing.TB, o storage.Options) storagetest.Engine { return open(t, path, o) },
		Crash: func(t testing.TB) { replaceByCopy(t, path) },
	}
}

func TestBoltOverRestarts(t *testing.T) { storagetest.RunDurable(t, durable) }

func TestBoltHooksOverRestarts(t *testing.T) { storagetest.RunDurableHooks(t, durable) }

// replaceByCopy puts a copy of the file in its place: what a crash at this moment
// would leave, while the store that has the old one open can do no more to it.
func replaceByCopy(t testing.TB, path string) {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(path + ".copy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
}
