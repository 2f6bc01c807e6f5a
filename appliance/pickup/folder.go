package pickup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/uuid"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/durable"
)

const (
	incoming  = ".incoming" // the one message that has not come whole
	uuidChars = 36          // in the only form that is a file's name here
)

// ErrBusy is wrapped with the name of a folder that another pickup fills.
var ErrBusy = errors.New("another pickup is at work there")

// Folder keeps each message in a file of its own, whose name is the message's
// id. A file is there whole or not at all, also after a crash. Sync prints the
// path of each that was kept since the last one.
type Folder struct {
	path string
	root *os.Root // no name leads out of it
	lock *os.File // the folder itself, for this pickup alone
	out  io.Writer

	next *os.File // the message that comes now; nil if none
	kept []string // ids since the last Sync
}

// OpenFolder makes ready a folder, which it creates for its owner alone if it is
// not there. Only one pickup at a time may have it: another gets ErrBusy. Paths
// are printed to out.
func OpenFolder(path string, out io.Writer) (*Folder, error) {
	if err := durable.MakeFolder(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	lock, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if err == syscall.EWOULDBLOCK {
			err = ErrBusy
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), lock.Close(), root.Close())
	}
	return &Folder{path: path, root: root, lock: lock, out: out}, nil
}

// Begin opens the place of the message that comes now.
func (f *Folder) Begin() (io.Writer, error) {
	f.drop()
	next, err := f.root.OpenFile(incoming, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	f.next = next
	return next, err
}

// Keep gives the message its name. One that is there already with the same bytes
// is left as it is; one with other bytes is ErrTaken.
func (f *Folder) Keep(l client.Label) error {
	defer f.drop()
	if len(l.ID) != uuidChars || uuid.Validate(l.ID) != nil {
		return fmt.Errorf("the relay gave the id %.40q, which is no UUID and so no file's name", l.ID)
	}
	there, err := f.root.Open(l.ID)
	switch {
	case err == nil:
		err = f.compare(there, l.ID)
	case errors.Is(err, fs.ErrNotExist):
		err = f.rename(l.ID)
	}
	if err != nil {
		return err
	}
	f.kept = append(f.kept, l.ID)
	return nil
}

// compare says whether what is there is the message that came. It closes there.
func (f *Folder) compare(there *os.File, id string) error {
	defer there.Close()
	if _, err := f.next.Seek(0, io.SeekStart); err != nil {
		return err
	}
	equal, err := same(there, f.next)
	if err != nil {
		return err
	}
	if !equal {
		return fmt.Errorf("the message was left at the relay, and %s as it is: %w", filepath.Join(f.path, id), ErrTaken)
	}
	return there.Sync() // whoever wrote it
}

// rename makes the bytes safe before their name.
func (f *Folder) rename(id string) error {
	if err := f.next.Sync(); err != nil {
		return err
	}
	return f.root.Rename(incoming, id)
}

// Sync makes the names safe and prints the paths.
func (f *Folder) Sync() error {
	if len(f.kept) == 0 {
		return nil
	}
	if err := f.lock.Sync(); err != nil {
		return err
	}
	for _, id := range f.kept {
		if _, err := fmt.Fprintln(f.out, filepath.Join(f.path, id)); err != nil {
			return err
		}
	}
	f.kept = nil
	return nil
}

// drop forgets the message that comes now.
func (f *Folder) drop() {
	if f.next != nil {
		f.next.Close() // synced if it matters
		f.next = nil
	}
}

// Close clears away what did not come whole, and lets others have the folder.
func (f *Folder) Close() error {
	f.drop()
	err := f.root.Remove(incoming)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.lock.Close(), f.root.Close())
}
