package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// inspect looks at an existing file before anything can write to it: whose it
// is, who wrote it, whether it is whole. bbolt scans a file that was not closed in
// order in a goroutine of its own, where a fault or a panic would end the process
// with a stack trace; so such a file is walked here first, where both are caught.
//
// A damaged file is refused and left as it is. Going back to bbolt's older meta
// page could open it, but that is the store before its last acknowledged commit.
func inspect(path string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer guard(&err)
	size, err := fileSize(path)
	if err != nil {
		return err
	}
	o := boltOptions()
	o.ReadOnly = true
	db, err := bbolt.Open(path, 0o600, o)
	if err != nil {
		return sayWhose(err)
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > size {
			return fmt.Errorf("the file has %d bytes of at least %d: it is cut off: %w", size, tx.Size(), errDamaged)
		}
		version, err := checkSchema(tx)
		if err != nil || closedInOrder(tx) {
			return err
		}
		return walk(tx, version)
	})
}

func fileSize(path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, errors.New("this is not a file")
	}
	if st.Size() == 0 {
		return 0, errors.New("the file is empty, which a holdmail store never is: move it away to start a new one")
	}
	return st.Size(), nil
}

func sayWhose(err error) error {
	if errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrVersionMismatch) || errors.Is(err, berrors.ErrChecksum) {
		return fmt.Errorf("this is no bbolt file, or its first pages are damaged (%w): it is left alone", err)
	}
	return sayInUse(err)
}

func closedInOrder(tx *bbolt.Tx) bool {
	closed := tx.Bucket(headBucket).Get(closedKey)
	return len(closed) == 8 && binary.BigEndian.Uint64(closed) == uint64(tx.ID())
}

// walk reads every page that bbolt's own scan will read.
func walk(tx *bbolt.Tx, version int) error {
	for _, name := range trees(version) {
		b := tx.Bucket(name)
		if b == nil {
			return fmt.Errorf("the tree %q is missing: %w", name, errDamaged)
		}
		if err := walkBucket(b); err != nil {
			return err
		}
	}
	return nil
}

func walkBucket(b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v != nil {
			return nil
		}
		return walkBucket(b.Bucket(k))
	})
}
