// Package durable makes the names of files and folders survive a crash. What a
// file holds is synced by whoever writes it.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeFolder makes a folder, and those it stands in, unless it is there. New ones
// are for their owner alone, and survive a crash once it returns nil.
func MakeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	switch parent := filepath.Dir(path); {
	case err == nil:
		return SyncNames(parent)
	case errors.Is(err, fs.ErrNotExist) && parent != path:
		if err := MakeFolder(parent); err != nil {
			return err
		}
		return MakeFolder(path)
	case errors.Is(err, fs.ErrExist) && isFolder(path):
		return nil
	default:
		return err
	}
}

func isFolder(path string) bool {
	stat, err := os.Stat(path)
	return err == nil && stat.IsDir()
}

// SyncNames makes what was made, renamed and removed in a folder survive a crash.
func SyncNames(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
