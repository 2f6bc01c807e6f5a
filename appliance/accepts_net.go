package appliance

import (
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxSocketPath is what the kernel takes, in bytes.
const maxSocketPath = 107

// onOff takes on or off.
func onOff(field func(*Config) *bool) accepts {
	return accepts{
		"on or off",
		func(c *Config, text string) bool {
			*field(c) = text == "on"
			return text == "on" || text == "off"
		},
	}
}

// seconds takes a whole number of them, up to most.
func seconds(most time.Duration, field func(*Config) *time.Duration) accepts {
	return accepts{
		fmt.Sprintf("a whole number from 1 to %d", int64(most.Seconds())),
		func(c *Config, text string) bool {
			n, ok := digits(text)
			ok = ok && 1 <= n && n <= int64(most.Seconds())
			if ok {
				*field(c) = time.Duration(n) * time.Second
			}
			return ok
		},
	}
}

// prefixes takes addresses and CIDR prefixes with commas between them.
func prefixes(field func(*Config) *[]netip.Prefix) accepts {
	return accepts{
		"addresses or CIDR prefixes such as 10.0.0.1,fd00::/8",
		func(c *Config, text string) bool {
			var list []netip.Prefix
			for entry := range strings.SplitSeq(text, ",") {
				p, ok := parsePrefix(strings.TrimSpace(entry))
				if !ok {
					return false
				}
				list = append(list, p)
			}
			*field(c) = list
			return true
		},
	}
}

// parsePrefix reads a prefix, or an address as the prefix of itself alone. One
// that is IPv4-mapped, or has a zone, would never match.
func parsePrefix(text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, false
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	return p.Masked(), !p.Addr().Is4In6()
}

// hostPort takes an IP address or a host name, with a port.
func hostPort(field func(*Config) *string) accepts {
	return accepts{
		"an IP address or a host name with a port, such as 127.0.0.1:9050",
		func(c *Config, text string) bool {
			*field(c) = text
			name, port, err := net.SplitHostPort(text)
			n, ok := digits(port)
			_, noIP := netip.ParseAddr(name)
			return err == nil && ok && 1 <= n && n <= math.MaxUint16 && (noIP == nil || hostName.MatchString(name))
		},
	}
}

// socketPath takes any path that the kernel can bind, and makes it absolute.
func socketPath(field func(*Config) *string) accepts {
	return accepts{
		fmt.Sprintf("a path of at most %d bytes", maxSocketPath),
		func(c *Config, text string) bool {
			path, err := filepath.Abs(text)
			*field(c) = path
			return err == nil && text != "" && !strings.ContainsRune(text, 0) && len(path) <= maxSocketPath
		},
	}
}

// fileMode takes the permissions of a file in octal.
func fileMode(field func(*Config) *fs.FileMode) accepts {
	return accepts{
		"permissions from 0600 to 0777, in octal",
		func(c *Config, text string) bool {
			n, err := strconv.ParseUint(text, 8, 32)
			*field(c) = fs.FileMode(n)
			return err == nil && 0o600 <= n && n <= 0o777
		},
	}
}
