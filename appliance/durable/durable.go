// Package durable makes the names of files and folders survive a crash. What a
// file holds is synced by whoever writes it.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeFolder makes a folder, and those it stands in, unless it is there. New ones
// are for their owner alone, and survive a crash once it returns nil.
func MakeFolder(path string) error {
	if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.EEXIST}
	}
	parents := parentsOfMissing(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := SyncNames(parent); err != nil {
			return err
		}
	}
	return nil
}

// parentsOfMissing lists the folders in which making path makes a name, the
// innermost first.
func parentsOfMissing(path string) (parents []string) {
	for {
		parent := filepath.Dir(path)
		if _, err := os.Lstat(path); err == nil || parent == path {
			return parents
		}
		parents = append(parents, parent)
		path = parent
	}
}

// SyncNames makes what was made, renamed and removed in a folder survive a crash.
func SyncNames(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
