// Package egress is the only way out for what a stranger named: a host in a DID,
// an endpoint in a message. It keeps such names from leading to the machines next
// to this one, and from making this one search others for open ports.
//
// It knows nothing of what is asked and why.
package egress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrForbidden is returned for a place that the rules do not allow to go to, and
// for a redirect that leads to another host.
var ErrForbidden = errors.New("not a place to go to for a stranger")

const (
	maxRedirects   = 3
	maxConnections = 2 // to one host; further calls wait for one
	maxHeader      = 32 << 10
)

// Rules say where a stranger may send us.
type Rules struct {
	Ports   []uint16    // the TCP ports
	Private bool        // addresses that are not on the public Internet, too
	TLS     *tls.Config // who is trusted; nil trusts whom the system trusts
}

// Client returns a client that goes nowhere but where r allows, by https and by no
// proxy. It checks the address that it really dials, after the name was looked up.
// It follows three redirects, on the same host and port. It keeps no cookies and no
// connections, and inflates nothing. within bounds each call, the body included.
func (r Rules) Client(within time.Duration) *http.Client {
	trust := r.TLS.Clone()
	if trust == nil {
		trust = &tls.Config{}
	}
	trust.MinVersion = tls.VersionTLS12
	dialer := &net.Dialer{Timeout: within, Control: r.control}
	return &http.Client{
		Timeout:       within,
		CheckRedirect: staysOnHost,
		Transport: httpsOnly{&http.Transport{
			Proxy:                  nil, // whatever the environment says
			DialContext:            dialer.DialContext,
			TLSClientConfig:        trust,
			TLSHandshakeTimeout:    within,
			DisableKeepAlives:      true,
			DisableCompression:     true, // a few bytes must stay a few
			MaxConnsPerHost:        maxConnections,
			MaxResponseHeaderBytes: maxHeader,
		}},
	}
}

// control is asked with each address before it is dialled.
func (r Rules) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: no address", ErrForbidden)
	}
	return r.Allow(at)
}

// Allow returns nil if at may be dialled, else ErrForbidden. It tells nothing of at.
func (r Rules) Allow(at netip.AddrPort) error {
	switch {
	case !slices.Contains(r.Ports, at.Port()):
		return fmt.Errorf("%w: the port", ErrForbidden)
	case !r.Private && !isPublic(at.Addr()):
		return fmt.Errorf("%w: the address", ErrForbidden)
	}
	return nil
}

// httpsOnly refuses every other scheme, a redirect's too.
type httpsOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (h httpsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: the scheme", ErrForbidden)
	}
	return h.next.RoundTrip(r)
}

func staysOnHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host {
		return fmt.Errorf("%w: a redirect to another host", ErrForbidden)
	}
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	return nil
}
