package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"golang.org/x/sys/unix"
)

// smallDisk mounts a tmpfs of so many bytes, which needs root.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	path := t.TempDir()
	if err := unix.Mount("holdmail-test", path, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Fatalf("mounting a small disk (tests of a full disk run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return path
}

// fillDisk writes a file until not a byte more fits.
func fillDisk(t *testing.T, folder string) (remove func()) {
	t.Helper()
	path := filepath.Join(folder, "somebody else's")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// fillStore deposits bodies of size bytes for ann until the disk has no room.
func fillStore(t *testing.T, s *Store, size int) (ids []string) {
	t.Helper()
	for len(ids) < 100_000 {
		got, err := s.Mailbox().Add(t.Context(), storage.Envelope{Recipients: []string{"ann"}, Body: make([]byte, size)})
		if errors.Is(err, storage.ErrNoRoom) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, got...)
	}
	t.Fatal("a disk without end")
	return nil
}

func (s *Store) mustRemove(t *testing.T, recipient string, ids []string) {
	t.Helper()
	if n, err := s.Mailbox().Remove(t.Context(), recipient, ids); n != len(ids) || err != nil {
		t.Fatalf("removing %d messages: %d, %v", len(ids), n, err)
	}
}

func TestFullDisk(t *testing.T) {
	for _, size := range []int{600, 5000, 300_000} {
		t.Run(fmt.Sprint("bodies of ", size), func(t *testing.T) {
			disk := smallDisk(t, 32<<20)
			path := filepath.Join(disk, "holdmail.db")
			s := mustOpen(t, path, smallOptions())
			kept := s.mustAdd(t, []byte("first of all"), "bob")
			s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
			remove := fillDisk(t, disk)
			ids := fillStore(t, s, size)
			if len(ids) < 2 {
				t.Fatalf("a new store's file has room for %d bodies of %d bytes", len(ids), size)
			}
			if err := s.Mailbox().Ready(t.Context()); size == 600 && !errors.Is(err, storage.ErrNoRoom) {
				t.Errorf("Ready on a full disk: %v; want %v", err, storage.ErrNoRoom)
			}
			if err := s.Close(); err != nil { // the second start finds the disk full, too
				t.Fatal(err)
			}
			s = mustOpen(t, path, smallOptions())
			for i, id := range ids {
				if n, err := s.Mailbox().Remove(t.Context(), "ann", []string{id}); n != 1 || err != nil {
					t.Fatalf("acknowledgement %d of %d on a full disk: %d, %v", i+1, len(ids), n, err)
				}
			}
			// What acknowledging freed is free for deposits, at once.
			if again := fillStore(t, s, size); len(again) < len(ids)*8/10 {
				t.Errorf("%d deposits found room where %d were acknowledged", len(again), len(ids))
			}
			remove()
			s.mustAdd(t, make([]byte, size), "ann")
			if n, err := s.Mailbox().Remove(t.Context(), "bob", kept); n != 1 || err != nil {
				t.Errorf("removing the first of all: %d, %v", n, err)
			}
			if _, err := s.Recount(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// On a full disk expired mail makes room for new mail.
func TestFullDiskOfExpiredMail(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	o := smallOptions()
	c := clock.NewFake(time.Now())
	o.Clock = c
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), o)
	s.mustRemove(t, "ann", s.mustAdd(t, make([]byte, 2<<20), "ann")) // the file has grown
	fillDisk(t, disk)
	old := fillStore(t, s, 5000)
	c.Advance(time.Hour)
	if young := fillStore(t, s, 5000); len(young) < len(old)*8/10 {
		t.Errorf("%d deposits found room where %d had expired", len(young), len(old))
	}
	if len(old) < 100 {
		t.Errorf("%d deposits found room in 2 MiB", len(old))
	}
	if n := len(listIDs(t, s, "ann")); n == 0 || n > len(old) {
		t.Errorf("%d messages are left", n)
	}
}

// The floor is what deposits leave of the disk to others.
func TestDiskFloor(t *testing.T) {
	disk := smallDisk(t, 32<<20)
	o := smallOptions()
	o.DiskFloor = 8 << 20
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), o)
	fillStore(t, s, 100_000)
	var st unix.Statfs_t
	if err := unix.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	if left := int64(st.Bavail) * int64(st.Bsize); left < o.DiskFloor || left > o.DiskFloor+2*minGrowth {
		t.Errorf("deposits left %d bytes of the disk free; the floor is %d", left, o.DiskFloor)
	}
}

// The file grows by what is really allocated: it never has a hole.
func TestNoHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	s := mustOpen(t, path, smallOptions())
	for i := range 40 {
		s.mustAdd(t, bytes.Repeat([]byte("x"), 10_000*i), "ann")
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks*512 < st.Size {
		t.Errorf("the file has %d bytes, of which %d are allocated", st.Size, st.Blocks*512)
	}
}

// A file grows for what is kept and for nothing else.
func TestFileSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	o := smallOptions()
	o.Caps.TotalMessages = 100
	size := func() int64 {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	for range 10 { // restarts
		s := mustOpen(t, path, o)
		s.mustAdd(t, []byte("one"), "ann")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before := size()
	if before > 4<<20 {
		t.Errorf("ten restarts with one message each left a file of %d bytes", before)
	}
	s := mustOpen(t, path, o)
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("stranger ", i)
	}
	var g sync.WaitGroup
	for range 64 { // refused for the caps, all at once
		g.Go(func() {
			if _, err := s.Mailbox().Add(t.Context(), storage.Envelope{Recipients: many, Body: make([]byte, 40_000)}); !errors.Is(err, storage.ErrFull) {
				t.Errorf("an envelope over the cap: %v; want %v", err, storage.ErrFull)
			}
		})
	}
	g.Wait()
	if after := size(); after != before {
		t.Errorf("refused deposits grew the file from %d to %d bytes", before, after)
	}
}

// On a full disk no deposit holds up the others for long, whatever has expired.
func TestFullDiskIsBrief(t *testing.T) {
	disk := smallDisk(t, 24<<20)
	o := smallOptions()
	c := clock.NewFake(time.Now())
	o.Clock = c
	s := mustOpen(t, filepath.Join(disk, "holdmail.db"), o)
	s.hold(t, 8000, 300, 50)
	c.Advance(time.Hour)
	fillDisk(t, disk)
	before := s.writer.commits.Load()
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("stranger ", i)
	}
	_, err := s.Mailbox().Add(t.Context(), storage.Envelope{Recipients: many, Body: make([]byte, 4<<20)})
	if commits := s.writer.commits.Load() - before; commits > tightRounds+2 {
		t.Errorf("one deposit took %d commits (%v)", commits, err)
	}
	for range 20 { // who tries again gets in, since every try sheds more
		if _, err = s.Mailbox().Add(t.Context(), storage.Envelope{Recipients: []string{"ann"}, Body: make([]byte, 50_000)}); err == nil {
			return
		}
	}
	t.Errorf("no deposit got in where 8000 messages had expired: %v", err)
}
