package appliance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// bindSocket listens on a Unix socket at path that only those with mode may open.
// A socket that a process left behind makes way; one that is answered does not,
// nor does anything that is no socket.
func bindSocket(path string, mode fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{
		// Before it has a name, so that it is never open to more than mode says.
		Control: func(_, _ string, raw syscall.RawConn) error {
			var set error
			err := raw.Control(func(fd uintptr) { set = syscall.Fchmod(int(fd), uint32(mode.Perm())) })
			return errors.Join(err, set)
		},
	}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	// What the umask took from it.
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody listens on.
func removeStale(path string) error {
	at, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if at.Mode().Type() != fs.ModeSocket {
		return errors.New("there is something else than a socket")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(errors.New("somebody listens there already"), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("asking who listens there: %w", cause(err))
	}
	return os.Remove(path)
}
