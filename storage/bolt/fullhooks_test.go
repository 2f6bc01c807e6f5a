package bolt

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
)

// fillHooks delivers size bytes to one address until the disk has no room.
func fillHooks(t *testing.T, s *Store, size int) (ids []string) {
	t.Helper()
	for len(ids) < 100_000 {
		id, err := s.deliver(t, make([]byte, size), "hook")
		if errors.Is(err, storage.ErrNoRoom) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	t.Fatal("a disk without end")
	return nil
}

func TestFullDiskOfHooks(t *testing.T) {
	for _, size := range []int{600, 5000, 300_000} {
		t.Run(fmt.Sprint("deliveries of ", size), func(t *testing.T) {
			disk := smallDisk(t, 32<<20)
			path := filepath.Join(disk, "holdmail.db")
			s := mustOpen(t, path, smallOptions())
			kept := s.mustDeliver(t, []byte("first of all"), "other")
			s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
			remove := fillDisk(t, disk)
			ids := fillHooks(t, s, size)
			if len(ids) < 2 {
				t.Fatalf("a file of 2 MiB has room for %d deliveries of %d bytes", len(ids), size)
			}
			if err := s.Close(); err != nil { // the second start finds the disk full, too
				t.Fatal(err)
			}
			s = mustOpen(t, path, smallOptions())
			for i, id := range ids {
				if n, err := s.Hooks().Remove(t.Context(), []string{id}); n != 1 || err != nil {
					t.Fatalf("acknowledgement %d of %d on a full disk: %d, %v", i+1, len(ids), n, err)
				}
			}
			// What acknowledging freed is free for deliveries, at once.
			if again := fillHooks(t, s, size); len(again) < len(ids)*8/10 {
				t.Errorf("%d deliveries found room where %d were acknowledged", len(again), len(ids))
			}
			remove()
			s.mustDeliver(t, make([]byte, size), "hook")
			if n, err := s.Hooks().Remove(t.Context(), []string{kept}); n != 1 || err != nil {
				t.Errorf("removing the first of all: %d, %v", n, err)
			}
			if _, err := s.Recount(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// On a full disk what has expired makes room, deliveries for mail and mail for
// deliveries.
func TestFullDiskOfExpiredHooks(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	o := smallOptions()
	c := clock.NewFake(time.Now())
	o.Clock = c
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), o)
	s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
	fillDisk(t, disk)
	old := fillHooks(t, s, 5000)
	if len(old) < 100 {
		t.Fatalf("%d deliveries found room in 2 MiB", len(old))
	}
	for i, fill := range []func() []string{
		func() []string { return fillHooks(t, s, 5000) },
		func() []string { return fillStore(t, s, 5000) },
		func() []string { return fillHooks(t, s, 5000) },
	} {
		c.Advance(time.Hour)
		if young := fill(); len(young) < len(old)*8/10 {
			t.Errorf("round %d: %d found room where %d had expired", i, len(young), len(old))
		}
	}
	if _, err := s.Recount(t.Context()); err != nil {
		t.Error(err)
	}
}

// Acknowledging a crowd's deliveries, each of its own address, fits the room that
// is left for it.
func TestFullDiskOfManyHooks(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), smallOptions())
	s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
	var ids []string
	for i := range 600 {
		ids = append(ids, s.mustDeliver(t, make([]byte, 600), fmt.Sprint("hook ", i)))
	}
	fillDisk(t, disk)
	fillHooks(t, s, 5000)
	if n, err := s.Hooks().Remove(t.Context(), ids); n != len(ids) || err != nil {
		t.Errorf("acknowledging %d on a full disk: %d, %v", len(ids), n, err)
	}
	if _, err := s.Recount(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever comes to empty a full store registers first, as before. Another set of
// addresses may have to wait for room, and leaves the one there is.
func TestFullDiskOfAddresses(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), smallOptions())
	all := make([]storage.Hook, 10_000)
	for i := range all {
		all[i] = storage.Hook{byte(i), byte(i >> 8)}
	}
	const known, more = 1000, 1500
	if err := s.Hooks().Register(t.Context(), all[:known]); err != nil {
		t.Fatal(err)
	}
	s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
	fillDisk(t, disk)
	ids := fillHooks(t, s, 300_000)
	ids = append(ids, fillHooks(t, s, 600)...)
	if err := s.Hooks().Register(t.Context(), all[:known]); err != nil {
		t.Errorf("the same addresses on a full disk: %v", err)
	}
	if err := s.Hooks().Register(t.Context(), all); !errors.Is(err, storage.ErrNoRoom) {
		t.Errorf("10,000 addresses on a full disk: %v, want %v", err, storage.ErrNoRoom)
	}
	if kept, err := s.Hooks().Registered(t.Context()); len(kept) != known || err != nil {
		t.Errorf("%d addresses are left, %v; want %d", len(kept), err, known)
	}
	if n, err := s.Hooks().Remove(t.Context(), ids); n != len(ids) || err != nil {
		t.Errorf("Remove = %d, %v; want %d", n, err, len(ids))
	}
	if err := s.Hooks().Register(t.Context(), all[:more]); err != nil {
		t.Errorf("more addresses where there is room again: %v", err)
	}
}
