package appliance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"
)

// bindSocket listens on a Unix socket at path that only those with mode may open,
// whose group is the one given, unless that is "". A socket that a process left
// behind makes way; one that is answered does not, nor does anything that is no
// socket.
func bindSocket(path string, mode fs.FileMode, group string) (net.Listener, error) {
	gid, err := groupID(group)
	if err != nil {
		return nil, err
	}
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
	if err := giveTo(path, gid); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// What the umask took from it.
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// sameGroup is what the kernel takes for leaving the group as it is.
const sameGroup = -1

// groupID finds the number of a group by its name or by itself; "" is sameGroup.
func groupID(group string) (int, error) {
	if group == "" {
		return sameGroup, nil
	}
	found, err := user.LookupGroup(group)
	if err != nil {
		found, err = user.LookupGroupId(group)
	}
	if err != nil {
		return 0, fmt.Errorf("this machine has no group %q", group)
	}
	return strconv.Atoi(found.Gid)
}

// giveTo gives the socket at path to a group that this process is in.
func giveTo(path string, gid int) error {
	if gid == sameGroup {
		return nil
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("giving it to group %d, in which the relay may not be: %w", gid, err)
	}
	return nil
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
