package torhost

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdmail/holdmail/appliance/onion"
)

// ErrNoName: Tor has not named the service yet.
var ErrNoName = errors.New("the service has no name yet, which Tor makes as soon as it has read its torrc")

// Name is the host name of the onion service in a folder, as Tor wrote it there.
// It is ErrNoName until Tor did, and says so at once if the folder is one that Tor
// will refuse, where it is known whom Tor runs as.
func Name(folder string, tor User) (string, error) {
	stat, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNoName
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%s is Tor's alone: run this as root (sudo)", folder)
	case err != nil:
		return "", err
	case !stat.IsDir():
		return "", fmt.Errorf("%s is no folder: move it away, and Tor makes one", folder)
	case tor.Name != "" && stat.Sys().(*syscall.Stat_t).Uid != tor.uid:
		return "", fmt.Errorf("%s is not Tor's own, which it refuses: chown -R %s: %s, then restart Tor", folder, tor.Name, folder)
	case stat.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s may be opened by others than its owner, which Tor refuses: chmod 700 %s, then restart Tor", folder, folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, "hostname"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNoName
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%s is Tor's alone: run this as root (sudo)", folder)
	case err != nil:
		return "", err
	}
	name := strings.TrimSpace(string(text))
	if !onion.Valid(name) {
		return "", fmt.Errorf("%s/hostname holds no onion name of version 3", folder)
	}
	return name, nil
}

// dialTime bounds a call on this machine.
const dialTime = 5 * time.Second

// Socks returns nil if somebody listens on Tor's SOCKS port.
func Socks(address string) error {
	c, err := net.DialTimeout("tcp", address, dialTime)
	if err != nil {
		return fmt.Errorf("nobody listens at %s, Tor's SOCKS port: start Tor (systemctl enable --now tor), or name its port with --socks", address)
	}
	return c.Close()
}

// Entrance returns nil if the relay listens where Tor brings its callers, a
// socket's path or host:port, and Tor may go in there.
func Entrance(target string, tor User) error {
	network := "tcp"
	if filepath.IsAbs(target) {
		network = "unix"
	}
	c, err := net.DialTimeout(network, target, dialTime)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return tor.enters(target) // it is there, and not for us
	case err != nil:
		return fmt.Errorf("the relay does not listen at %s, where Tor brings its callers: start it (systemctl restart holdmail)", target)
	}
	c.Close()
	if network == "unix" {
		return tor.enters(target)
	}
	return nil
}

// OpenedSince reports whether a relay's socket, which each start of it makes anew, is
// younger than the last change of the files, those that are there. Of a port it
// cannot be told, and is taken to be so.
func OpenedSince(target string, files ...string) bool {
	if !filepath.IsAbs(target) {
		return true
	}
	socket, err := os.Stat(target)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(files, func(file string) bool {
		stat, err := os.Stat(file)
		return err == nil && stat.ModTime().After(socket.ModTime())
	})
}
