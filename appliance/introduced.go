package appliance

import (
	"net"
	"net/netip"
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
