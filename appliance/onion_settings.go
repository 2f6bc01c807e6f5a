package appliance

import (
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdmail/holdmail/appliance/onion"
)

// Onion says how Tor brings the callers of the relay's onion service, and what
// they may take: they have budgets of their own, so that a flood of them leaves
// all others' alone. What one of them may take is what any other source may.
type Onion struct {
	Listen   string      // path of a Unix socket, or address and port on loopback; "" when none come
	Mode     fs.FileMode // of the socket
	Group    string      // of the socket; "" leaves it the relay's own
	Circuits bool        // Tor says which circuit a caller comes by

	CircuitsPerWindow int64 // that make their first call
	ReadGlobal        int64 // requests
	DepositGlobal     int64 // bytes
}

// autoListen stands for the socket in the service manager's folder, until Load
// knows which that is.
const autoListen = "auto"

var groupName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// port is the address and port to listen on; ok is false when it is a socket.
func (o Onion) port() (address string, ok bool) {
	return o.Listen, o.Listen != "" && !filepath.IsAbs(o.Listen)
}

// warnings tells of what is taken on trust.
func (o Onion) warnings() []string {
	if _, ok := o.port(); !ok {
		return nil
	}
	return []string{named("HOLDMAIL_ONION_LISTEN") + " is a port, on which every user of this machine can pretend to be Tor and any circuit: a Unix socket is opened to Tor alone"}
}

// onionName takes the name of an onion service, and puts it in lower case.
func onionName(field func(*Config) *string) accepts {
	return accepts{
		"the whole name of an onion service of version 3, which is 56 characters and .onion",
		func(c *Config, text string) bool {
			*field(c) = strings.ToLower(text)
			return onion.Valid(text)
		},
	}
}

// onionListen takes a socket's path, or a port that only this machine reaches.
func onionListen(field func(*Config) *string) accepts {
	return accepts{
		fmt.Sprintf("auto, off, an absolute path of at most %d bytes, or an address and port on loopback such as 127.0.0.1:4237", maxSocketPath),
		func(c *Config, text string) bool {
			switch {
			case text == autoListen:
				*field(c) = text
				return true
			case text == "off":
				*field(c) = ""
				return true
			case filepath.IsAbs(text):
				return socketPath(field).set(c, text)
			}
			*field(c) = text
			at, err := netip.ParseAddrPort(text)
			return err == nil && at.Addr().IsLoopback() && at.Port() != 0
		},
	}
}

// group takes a name or a number of one. Whether there is such a group is found
// out where it is asked for.
func group(field func(*Config) *string) accepts {
	return accepts{
		"the name or number of a group",
		func(c *Config, text string) bool {
			*field(c) = text
			return groupName.MatchString(text)
		},
	}
}
