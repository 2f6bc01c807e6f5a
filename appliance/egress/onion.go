package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"golang.org/x/net/proxy"

	"github.com/holdmail/holdmail/appliance/onion"
)

// dialOnion has the proxy connect to an onion service. The name goes to the proxy
// as it is; this machine looks nothing up but the proxy.
func (c *Courier) dialOnion(ctx context.Context, to Endpoint) (net.Conn, error) {
	if c.options.Proxy == "" {
		return nil, failed(Proxy, "this relay has no proxy for onion services", nil)
	}
	// A proxy that is not Tor would look for what no service can be called.
	if !onion.Leads(to.Host) {
		return nil, notEndpoint("its host is no onion service's: want 56 characters and .onion, none of them mistyped")
	}
	// Who sees two destinations with different credentials sends them by different
	// circuits (Tor's IsolateSOCKSAuth, on by default).
	isolated := &proxy.Auth{User: "holdmail", Password: c.circuit(to.Host)}
	way := &toProxy{}
	dialer, err := proxy.SOCKS5("tcp", c.options.Proxy, isolated, way)
	if err != nil {
		return nil, failed(Proxy, "the proxy for onion services cannot be used", err)
	}
	conn, err := dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", to.address())
	if err != nil {
		return nil, unproxied(err, way.heard)
	}
	return conn, nil
}

// toProxy connects to the proxy itself, so that its failures are not taken for
// those of what is behind it.
type toProxy struct {
	net.Dialer
	heard bool // the proxy has said something
}

// DialContext is what the SOCKS library asks for.
func (d *toProxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	switch {
	case err == nil:
		return &proxyConn{conn, &d.heard}, nil
	case timedOut(err):
		return nil, failed(Proxy, "the proxy for onion services did not take a connection in time", err)
	}
	return nil, failed(Proxy, "the proxy for onion services cannot be reached", err)
}

// proxyConn notes whether the proxy says anything.
type proxyConn struct {
	net.Conn
	heard *bool
}

// Read waits for the next bytes.
func (c *proxyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	*c.heard = *c.heard || n > 0
	return n, err
}

// unproxied says why the proxy gave no connection. heard tells whether it spoke.
func unproxied(err error, heard bool) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if wrapped, ok := errors.AsType[*net.OpError](err); ok && strings.HasPrefix(wrapped.Op, "socks") {
		err = wrapped.Err // it also names the onion service, which is nobody's business
	}
	if code, ok := replyOf(err); ok {
		party, message := replied(code)
		return failed(party, message, err)
	}
	said := err.Error()
	switch {
	case timedOut(err) && !heard:
		return failed(Proxy, "the proxy for onion services did not answer in time", err)
	case timedOut(err):
		return failed(Onion, "the onion service was not reached in time", err)
	case strings.Contains(said, "authentication"):
		return failed(Proxy, "the proxy for onion services refused: it wants another authentication", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failed(Proxy, "the proxy for onion services hung up before it answered", err)
	}
	return failed(Proxy, "the proxy for onion services does not speak SOCKS5 as it should", err)
}

// replyOf is the reply code of a proxy that refused. The library gives it in words
// only: those of RFC 1928, or the number.
func replyOf(err error) (code byte, ok bool) {
	_, said, ok := strings.Cut(err.Error(), "unknown error ")
	if !ok {
		return 0, false
	}
	if digits, isNumber := strings.CutPrefix(said, "unknown code: "); isNumber {
		n, err := strconv.ParseUint(digits, 10, 8)
		return byte(n), err == nil
	}
	for i, words := range []string{
		"general SOCKS server failure", "connection not allowed by ruleset", "network unreachable", "host unreachable",
		"connection refused", "TTL expired", "command not supported", "address type not supported",
	} {
		if said == words {
			return byte(i + 1), true
		}
	}
	return 0, false
}

// replied says what a reply code means: those of RFC 1928, and of Tor's proposal 304,
// which Tor uses for a port with the flag ExtendedErrors.
func replied(code byte) (Party, string) {
	const service, refused = "the onion service cannot be reached", "the proxy for onion services refused"
	switch code {
	case 0x01:
		return Onion, service + ": the proxy does not say why"
	case 0x02:
		return Proxy, refused + ": its rules forbid the connection"
	case 0x03, 0x04:
		return Onion, service
	case 0x05:
		return Onion, "the onion service refused the connection"
	case 0x06:
		return Onion, "the onion service did not take a connection in time"
	case 0x07:
		return Proxy, refused + ": it makes no connections"
	case 0x08:
		return Proxy, refused + ": it takes no names"
	case 0xF0:
		return Onion, service + ": its descriptor was not found, it may be down"
	case 0xF1:
		return Onion, service + ": its descriptor is not valid"
	case 0xF2:
		return Onion, service + ": the introduction failed"
	case 0xF3:
		return Onion, service + ": the rendezvous failed"
	case 0xF4:
		return Onion, service + ": it wants a client authorization, and the proxy has none"
	case 0xF5:
		return Onion, service + ": it does not take the proxy's client authorization"
	case 0xF6:
		return Onion, service + ": its name is no onion service's"
	case 0xF7:
		return Onion, service + ": the introduction timed out"
	}
	return Proxy, refused + ": it answered with the code " + strconv.Itoa(int(code))
}
