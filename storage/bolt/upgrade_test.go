package bolt

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"go.etcd.io/bbolt"
)

// unpack puts a file from testdata where a test may write to it. Those of version 1
// were made by a holdmail of that version at versionOneTime: a small message for ann,
// a large one for ann and bob, and a live challenge.
func unpack(t *testing.T, name, folder string) (path string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(folder, "holdmail.db")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func versionOneTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func TestUpgrade(t *testing.T) {
	for _, tt := range []struct {
		name      string
		challenge bool // outlived the stop
	}{
		{"version1-closed.db.gz", true},
		{"version1-crashed.db.gz", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, o := unpack(t, tt.name, t.TempDir()), smallOptions()
			o.Clock = clock.NewFake(versionOneTime())
			s := mustOpen(t, path, o)
			if live, err := s.Challenges().Consume(t.Context(), "kept"); live != tt.challenge || err != nil {
				t.Errorf("the challenge is live: %v, %v; want %v", live, err, tt.challenge)
			}
			large := bytes.Repeat([]byte("large "), 5000)
			wantBodies(t, s, "ann", []byte("small"), large)
			wantBodies(t, s, "bob", large)
			id := s.mustDeliver(t, []byte("the first"), "hook")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			s = mustOpen(t, path, o) // by now it is a file like any other
			wantBodies(t, s, "bob", large)
			if sealed, err := s.Hooks().Sealed(t.Context(), id); string(sealed) != "the first" {
				t.Errorf("the first delivery reads %q, %v", sealed, err)
			}
			if got, err := s.Recount(t.Context()); err != nil || got.Messages != 3 {
				t.Errorf("the store holds %+v, %v; want 3 messages", got, err)
			}
		})
	}
}

// The upgrade is one commit: a crash leaves the old version or the new one.
func TestUpgradeIsOneCommit(t *testing.T) {
	path := unpack(t, "version1-crashed.db.gz", t.TempDir())
	db, err := bbolt.Open(path, 0o600, boltOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := transaction(t, db)
	for range 2 { // the second finds nothing to do
		if err := upgrade(db); err != nil {
			t.Fatal(err)
		}
		if n := transaction(t, db) - before; n != 1 {
			t.Errorf("bringing the file up took %d commits", n)
		}
	}
}

// It needs no room that a full disk would lack.
func TestUpgradeOnFullDisk(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	path, o := unpack(t, "version1-crashed.db.gz", disk), smallOptions()
	fillDisk(t, disk)
	o.Clock = clock.NewFake(versionOneTime())
	s := mustOpen(t, path, o)
	wantBodies(t, s, "bob", bytes.Repeat([]byte("large "), 5000))
	if _, err := s.Recount(t.Context()); err != nil {
		t.Error(err)
	}
}

// transaction is the number of the last commit.
func transaction(t testing.TB, db *bbolt.DB) (n int) {
	t.Helper()
	if err := db.View(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func wantBodies(t *testing.T, s *Store, recipient string, want ...[]byte) {
	t.Helper()
	var got [][]byte
	for m, err := range s.Mailbox().List(t.Context(), recipient, "") {
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := m.Body.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Bytes())
	}
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%s has %d messages, or others; want %d", recipient, len(got), len(want))
	}
}

func (s *Store) deliver(t testing.TB, sealed []byte, hook string) (id string, err error) {
	t.Helper()
	id, received, err := s.Hooks().Reserve()
	if err != nil {
		t.Fatal(err)
	}
	return id, s.Hooks().Add(t.Context(), storage.Delivery{ID: id, Hook: storage.Hook(ownerOf(hook)), Received: received, Sealed: sealed})
}

func (s *Store) mustDeliver(t testing.TB, sealed []byte, hook string) (id string) {
	t.Helper()
	id, err := s.deliver(t, sealed, hook)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
