// Package pairing keeps a home computer's key and token in one file, which only
// its owner may use.
//
// It knows where they are kept and not what they are for. There is no other copy:
// what was sealed for a key that is lost stays sealed.
package pairing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/seal"
)

const (
	fileMode = 0o600
	maxFile  = 64 << 10 // bytes
)

// ErrExposed is wrapped with the name of a file that others than its owner may
// use: its key may be known already.
var ErrExposed = errors.New("others may use this key: pair again with a new one, or take their rights away (chmod 600)")

// Create makes a key and keeps it in a new file that only its owner may use. It
// never writes over a file that is there. Once it returns nil the file survives a
// crash.
func Create(path string, hybrid bool) (seal.Key, error) {
	k, err := seal.NewKey(hybrid)
	if err != nil {
		return seal.Key{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return seal.Key{}, err
	}
	if err := errors.Join(write(f, k), f.Close()); err != nil {
		os.Remove(path) // no relay knows its setup code yet
		return seal.Key{}, err
	}
	return k, durable.SyncNames(filepath.Dir(path))
}

func write(f *os.File, k seal.Key) error {
	b, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

// Open reads the key in a file. One that is open to others is ErrExposed. Its
// errors tell nothing of the secrets.
func Open(path string) (seal.Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return seal.Key{}, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return seal.Key{}, err
	}
	if !stat.Mode().IsRegular() || stat.Size() > maxFile {
		return seal.Key{}, fmt.Errorf("%s does not come from holdmail pair", path)
	}
	if stat.Mode().Perm()&0o077 != 0 {
		return seal.Key{}, fmt.Errorf("%s: %w", path, ErrExposed)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return seal.Key{}, err
	}
	var k seal.Key
	if err := k.UnmarshalJSON(b); err != nil {
		return seal.Key{}, fmt.Errorf("%s does not come from holdmail pair: %w", path, err)
	}
	return k, nil
}
