package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdmail/holdmail/appliance/onion"
)

// ErrEndpoint is wrapped with one sentence that says what is wrong with an address.
var ErrEndpoint = errors.New("endpoint is no address to deliver to")

// maxEndpoint is the length of an address, in bytes.
const maxEndpoint = 2048

// Endpoint is an http or https address that a stranger named, in one spelling: the
// host in lower case and without a dot at its end, the port always there, the path
// without slashes at its end.
type Endpoint struct {
	Scheme string // "http" or "https"
	Host   string // a name in ASCII, or an IP address
	Port   uint16 // never 0
	Path   string // escaped as it was; "" or "/something"
}

// ParseEndpoint reads an address, or returns ErrEndpoint. Whether anybody may go
// there is another question.
func ParseEndpoint(text string) (Endpoint, error) {
	if len(text) > maxEndpoint {
		return Endpoint{}, notEndpoint(fmt.Sprintf("it is longer than %d bytes", maxEndpoint))
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || strings.ContainsRune(text, '\\'):
		return Endpoint{}, notEndpoint("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return Endpoint{}, notEndpoint("want https, or an onion service")
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return Endpoint{}, notEndpoint("it may have no user, query or fragment")
	}
	e := Endpoint{Scheme: u.Scheme, Path: strings.TrimRight(u.EscapedPath(), "/")}
	if e.Host, err = hostOf(u); err != nil {
		return Endpoint{}, err
	}
	if e.Port, err = portOf(u); err != nil {
		return Endpoint{}, err
	}
	return e, nil
}

func notEndpoint(why string) error { return fmt.Errorf("%w: %s", ErrEndpoint, why) }

// hostOf takes a name of plain letters, digits, hyphens and underscores, or an IP
// address: nothing that a resolver could read as another name than we do.
func hostOf(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", notEndpoint("its host is an address of one machine's network alone")
		}
		return ip.String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	if strings.HasPrefix(u.Host, "[") || !isName(host) {
		return "", notEndpoint("its host is no name, in ASCII, and no IP address")
	}
	return host, nil
}

func isName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if len(label) < 1 || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() == "" && u.Scheme == "http":
		return 80, nil
	case u.Port() == "":
		return 443, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, notEndpoint("its port is none")
	}
	return uint16(port), nil
}

// Onion reports whether e is an onion service: only Tor knows the way there.
func (e Endpoint) Onion() bool { return onion.Is(e.Host) }

// Deliverable returns nil if bytes that a stranger chose may go to e, else
// ErrEndpoint. Without TLS they could be commands to a service that speaks in
// plain text; an onion service is reached by nobody who does not mean to be.
func (e Endpoint) Deliverable() error {
	if e.Scheme != "https" && !e.Onion() {
		return notEndpoint("want https, since it is no onion service")
	}
	return nil
}

// Below is the address of path, which begins with a slash, below e's own.
func (e Endpoint) Below(path string) Endpoint {
	e.Path += path
	return e
}

// address is host and port, as one dials.
func (e Endpoint) address() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// String is the address as a URL, in which a scheme's own port is left out.
func (e Endpoint) String() string {
	authority := e.address()
	switch {
	case e.Scheme == "http" && e.Port == 80:
		authority = strings.TrimSuffix(authority, ":80")
	case e.Scheme == "https" && e.Port == 443:
		authority = strings.TrimSuffix(authority, ":443")
	}
	return e.Scheme + "://" + authority + e.Path
}
