package appliance

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/holdmail/holdmail/appliance/source"
)

// introductionTime is how long a proxy may take for the header that says whom it
// speaks for. Its size the library bounds, at 4 KiB.
const introductionTime = 5 * time.Second

// introduced accepts connections whose peers say by a PROXY header, version 1 or
// 2, whom they speak for; one without it ends at its first read. The address of
// such a connection waits for the header, so that nobody may ask for it where
// connections are accepted.
func introduced(inner net.Listener) net.Listener {
	return introductions{&proxyproto.Listener{
		Listener:          inner,
		ReadHeaderTimeout: introductionTime,
		ConnPolicy: func(proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			return proxyproto.REQUIRE, nil
		},
	}}
}

// introducedByProxies asks the header of trusted proxies alone. Others speak for
// themselves: one of theirs ends the connection.
func introducedByProxies(inner net.Listener, proxies []netip.Prefix) net.Listener {
	return introductions{&proxyproto.Listener{
		Listener:          inner,
		ReadHeaderTimeout: introductionTime,
		ConnPolicy: func(conn proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			if source.Within(proxies, conn.Upstream.String()) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.REJECT, nil
		},
	}}
}

// introducedByTor asks Tor for the circuit of each connection, which is a source of
// its own in the crowd. A connection that comes by none, or whose circuit has its
// share, ends at its first read.
func introducedByTor(inner net.Listener) net.Listener { return circuits{introduced(inner)} }

// circuits is a listener behind which Tor is.
type circuits struct{ net.Listener }

// Accept waits for the next connection, not for its circuit.
func (l circuits) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	introduced := conn.(introducedConn)
	return circuitConn{introduced, sync.OnceValue(func() bool { return joinCircuit(introduced) })}, nil
}

// joinCircuit waits for the circuit of conn, and counts it to that.
func joinCircuit(conn net.Conn) bool {
	name, ok := source.Circuit(conn.RemoteAddr())
	if member := memberOf(conn); ok && member != nil {
		return member.crowd.join(member, member.crowd.quarter(name))
	}
	return ok
}

type circuitConn struct {
	introducedConn
	joined func() bool
}

// Read is at an end from the start for a connection that may not come in.
func (c circuitConn) Read(p []byte) (int, error) {
	if !c.joined() {
		return 0, io.EOF
	}
	return c.introducedConn.Read(p)
}

// introductions is the library's listener, whose connections can close one side.
type introductions struct{ net.Listener }

// Accept waits for the next connection, not for its header.
func (l introductions) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return introducedConn{conn.(*proxyproto.Conn)}, nil
}

type introducedConn struct{ *proxyproto.Conn }

// CloseWrite lets the server end its side first, so that a refused sender reads
// the refusal before the connection is reset.
func (c introducedConn) CloseWrite() error {
	if half, ok := c.Raw().(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
