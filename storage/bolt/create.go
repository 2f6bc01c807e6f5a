package bolt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// create makes an empty store at path if nothing is there. It is made beside
// path and moved into place when all of it is on the disk, so that a power cut
// leaves either no store or a whole one. Of two processes that create at once,
// one makes the store and both open it.
func create(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, filepath.Base(path)+unfinished)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(f.Name()); err != nil {
		return fmt.Errorf("making a new store: %w", err)
	}
	if err := moveNew(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// unfinished is in the name of a store that is being made.
const unfinished = ".new-*"

// sweepUnfinished removes what a power cut left while a store was being made. It
// is called by who has the store open, so whoever else is making one is too late.
func sweepUnfinished(path string) {
	left, err := filepath.Glob(path + unfinished)
	if err != nil {
		return // a folder whose name is a pattern keeps them; they are small
	}
	for _, name := range left {
		os.Remove(name)
	}
}

func fill(path string) error {
	db, err := bbolt.Open(path, 0o600, boltOptions())
	if err != nil {
		return err
	}
	secret := make([]byte, ids.SecretBytes)
	rand.Read(secret) // never fails
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := putSchema(tx); err != nil {
			return err
		}
		return tx.Bucket(headBucket).Put(secretKey, secret)
	})
	return errors.Join(err, db.Sync(), db.Close())
}

// moveNew renames without replacing what another process put there meanwhile;
// that process may even have removed from.
func moveNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EEXIST):
		return nil
	case errors.Is(err, unix.ENOENT):
		if _, there := os.Lstat(to); there == nil {
			return nil
		}
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // not every file system can
		return os.Rename(from, to)
	}
	return err
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrInUse: another process has the store's file open.
var ErrInUse = errors.New("already in use by another process")

// sayInUse names what a lock that could not be had means.
func sayInUse(err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrInUse
	}
	return err
}
