package bolt

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

const (
	pageBytes = 4096 // on every machine: a card can move to a board with larger pages

	// reserveBytes of the file are left alone by deposits, so that an
	// acknowledgement can always write its pages, and thereby free others.
	reserveBytes = 2 << 20

	// maxFileBytes is what a 32-bit process can map, less what bbolt rounds up.
	maxFileBytes = math.MaxInt - 64<<20

	// The file grows by an eighth of its size, within these bounds.
	minGrowth, maxGrowth = 1 << 20, 16 << 20
)

// pagesToFile foresees how many pages a deposit takes: its body's, and for every
// copy a leaf, with its share of the branches above and of leaves that split. A
// commit that takes more is tried again in a larger file.
func pagesToFile(body, copies int) int64 {
	return int64(body)/pageBytes + int64(body)/pieceBytes + 8 + int64(copies)*5/4
}

// pagesToCommit is what a commit takes besides, the shedding of what has expired
// included.
const pagesToCommit = 32 + 4*sweepCopies

// room makes sure that what a commit is going to write has a place on the disk
// before it is written. bbolt by itself grows its file by a hole, and a hole on a
// full disk fails even a removal (spec/storage.md).
type room struct {
	file  *os.File // the store's file, opened a second time
	floor int64    // bytes of the disk's free space that deposits leave alone

	// Set by the writer alone, read by ready.
	size atomic.Int64 // of the file, in bytes, all of them allocated
	high atomic.Int64 // the file's bytes that bbolt has ever used
	free atomic.Int64 // bytes in free pages below high
	torn atomic.Int64 // the free bytes in which a deposit found no long enough run; 0: none
}

func newRoom(path string, floor int64) (*room, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &room{file: f, floor: floor}
	r.size.Store(st.Size())
	return r, nil
}

// fillHoles puts real blocks behind what the file has already: bbolt makes it
// with a hole, and so may whoever copied it. Nothing that is written is touched.
func (r *room) fillHoles() error {
	err := unix.Fallocate(int(r.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, r.size.Load())
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// look notes what bbolt uses of the file.
func (r *room) look(db *bbolt.DB) error {
	r.free.Store(int64(db.Stats().FreePageN) * pageBytes)
	return db.View(func(tx *bbolt.Tx) error {
		r.high.Store(tx.Size())
		return nil
	})
}

// limit is the size to which bbolt may fill the file for a commit with deposits
// that need so many pages, after growing it if need be. It returns
// storage.ErrNoRoom when neither the disk nor the file has that much.
func (r *room) limit(pages int64) (int64, error) {
	need := pages * pageBytes
	if err := r.grow(need); err != nil && !r.inside(need) {
		return 0, err
	}
	return max(r.size.Load()-reserveBytes, 1), nil // 0 would mean no limit
}

// inside reports whether free pages within the file have room for need bytes.
func (r *room) inside(need int64) bool {
	free := r.free.Load()
	return free+r.size.Load()-r.high.Load() >= need+reserveBytes && (r.torn.Load() == 0 || free > r.torn.Load()+need)
}

// tear notes that the free pages as they are lack a run that somebody needed.
func (r *room) tear() { r.torn.Store(max(r.free.Load(), 1)) }

// grow allocates the file until need bytes fit above what bbolt uses, if they do
// not yet.
func (r *room) grow(need int64) error {
	size := r.size.Load()
	least := r.high.Load() + need + reserveBytes
	if least <= size {
		return nil
	}
	step := min(max(size/8, minGrowth), maxGrowth)
	for _, want := range []int64{max(least, size+step), least} {
		if want > maxFileBytes || r.spare(want-size) != nil {
			continue
		}
		err := r.allocate(size, want)
		if err == nil {
			r.torn.Store(0)
			r.size.Store(want)
			return nil
		}
		// A failed allocation may have grown the file some way.
		if err := r.file.Truncate(size); err != nil {
			return err
		}
	}
	return fmt.Errorf("growing the store by %d KiB: %w", (least-size)>>10, storage.ErrNoRoom)
}

// spare returns nil if the disk has so many bytes to spare above its floor.
func (r *room) spare(bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(r.file.Fd()), &st); err != nil {
		return fmt.Errorf("asking for the disk's free space: %w", err)
	}
	if bytes > int64(min(st.Bavail, math.MaxInt64/uint64(st.Bsize)))*int64(st.Bsize)-r.floor {
		return storage.ErrNoRoom
	}
	return nil
}

// allocate grows the file from one size to another with real blocks behind it.
func (r *room) allocate(from, to int64) error {
	err := unix.Fallocate(int(r.file.Fd()), 0, from, to-from)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	zeros := make([]byte, 256<<10) // a file system that cannot reserve: write them
	for at := from; at < to; at += int64(len(zeros)) {
		if _, err := r.file.WriteAt(zeros[:min(int64(len(zeros)), to-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// ready returns nil if a small deposit would find room now.
func (r *room) ready() error {
	const need = (pagesToCommit + 16) * pageBytes
	short := r.high.Load() + need + reserveBytes - r.size.Load()
	if short <= 0 || r.inside(need) {
		return nil
	}
	return r.spare(short)
}
