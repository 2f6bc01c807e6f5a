package torhost

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// User is whom Tor runs as. Its zero value is nobody known.
type User struct {
	Name     string
	Group    string // the first one, which is the only one that Tor keeps
	uid, gid uint32
}

// Lookup finds a user of this machine.
func Lookup(name string) (User, error) {
	who, err := user.Lookup(name)
	if err != nil {
		return User{}, err
	}
	group, err := user.LookupGroupId(who.Gid)
	if err != nil {
		return User{}, err
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return User{}, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	return User{Name: who.Username, Group: group.Name, uid: uint32(uid), gid: uint32(gid)}, err
}

// enters returns nil unless the permissions of a socket keep Tor out, who must be
// allowed to read and to write.
func (u User) enters(socket string) error {
	stat, err := os.Stat(socket)
	if err != nil || u.Name == "" || u.uid == 0 {
		return err
	}
	bits, owner := stat.Mode().Perm(), stat.Sys().(*syscall.Stat_t)
	switch {
	case owner.Uid == u.uid:
		bits >>= 6
	case owner.Gid == u.gid:
		bits >>= 3
	}
	if bits&6 != 6 {
		return fmt.Errorf("%s is closed to Tor: run holdmail tor --write as root, or give the socket to the group %s", socket, u.Group)
	}
	return nil
}
