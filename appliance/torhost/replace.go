// Package torhost finds and changes what a machine's Tor needs to serve the
// relay, and says in one sentence what keeps it from that.
//
// It knows files and their owners: it starts no program, and nothing of what a
// torrc means.
package torhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdmail/holdmail/appliance/durable"
)

// File is a file of the system's that is to hold other text.
type File struct {
	Path string
	// Check is asked of a file with the new text before it takes the old one's
	// place; nil takes every text.
	Check func(candidate string) error
	// Backup is where the old text is kept, if it is not "".
	Backup string
}

// Read is the text of the file; "" if there is none.
func (f File) Read() (string, error) {
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// Replace gives the file another text, whole or not at all. It keeps its owner and
// mode; a new file has mode 0644. Its folder is made if need be.
func (f File) Replace(text string) error {
	if err := durable.MakeFolder(filepath.Dir(f.Path)); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(f.Path) // a link stays one
	if errors.Is(err, fs.ErrNotExist) {
		path, err = f.Path, nil
	}
	if err != nil {
		return err
	}
	old, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	candidate := path + ".new"
	if err := write(candidate, text, old); err != nil {
		return err
	}
	defer os.Remove(candidate) // gone once it has its name
	if f.Check != nil {
		if err := f.Check(candidate); err != nil {
			return err
		}
	}
	if old != nil && f.Backup != "" {
		if err := f.keep(path, old); err != nil {
			return err
		}
	}
	if err := os.Rename(candidate, path); err != nil {
		return err
	}
	return durable.SyncNames(filepath.Dir(path))
}

func (f File) keep(path string, old fs.FileInfo) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return write(f.Backup, string(text), old)
}

// write makes a file on the disk that is the owner's of like.
func write(path, text string, like fs.FileInfo) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if like != nil {
		mode = like.Mode().Perm()
		owner := like.Sys().(*syscall.Stat_t)
		err = w.Chown(int(owner.Uid), int(owner.Gid))
	}
	_, writing := w.WriteString(text)
	err = errors.Join(err, writing, w.Chmod(mode), w.Sync(), w.Close())
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
