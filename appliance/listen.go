package appliance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/holdmail/holdmail/appliance/source"
)

// entrance is a listener, and how its callers are told apart.
type entrance struct {
	net.Listener
	source.Entrance
}

// entrances are all the ways in; the first is the TCP port.
type entrances []entrance

// openEntrances opens the listeners that c names, or none of them. The TCP port
// speaks by handshakes, if there are any. Their connections are of one crowd.
func openEntrances(c Config, handshakes *tls.Config, callers *crowd) (open entrances, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, open.Close())
			open = nil
		}
	}()
	tcp, err := listenTCP(c, handshakes, callers)
	if err != nil {
		return open, err
	}
	open = append(open, tcp)
	if c.UnixSocket != "" {
		unix, err := listenUnix(c, callers)
		if err != nil {
			return open, err
		}
		open = append(open, unix)
	}
	if c.Onion.Listen != "" {
		tor, err := listenOnion(c.Onion, callers)
		if err != nil {
			return open, err
		}
		open = append(open, tor)
	}
	return open, nil
}

// Close closes all of them. Those that are closed already are no error.
func (es entrances) Close() error {
	var errs []error
	for _, e := range es {
		if err := e.Listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func listenTCP(c Config, handshakes *tls.Config, callers *crowd) (entrance, error) {
	address := net.JoinHostPort(c.BindAddress, strconv.Itoa(int(c.Port)))
	l, err := listen(context.Background(), address, stallAfter)
	if err != nil {
		return entrance{}, fmt.Errorf("listening on %s: %w", address, cause(err))
	}
	l = callers.bounded(l)
	way := source.Entrance{Name: "tcp"}
	if c.ProxyProtocol {
		l, way.Trust = introducedByProxies(l, c.TrustedProxies), source.TrustNobody
	}
	if handshakes != nil {
		l = tls.NewListener(l, handshakes)
	}
	return entrance{l, way}, nil
}

// listenUnix opens the Unix socket. Its permissions say who may call, and so
// whom the setting of the source trusts.
func listenUnix(c Config, callers *crowd) (entrance, error) {
	l, err := bindSocket(c.UnixSocket, c.UnixMode, "")
	if err != nil {
		return entrance{}, fmt.Errorf("listening on %s: %w", c.UnixSocket, cause(err))
	}
	l = callers.bounded(stallListener{l, stallAfter})
	way := source.Entrance{Name: "unix"}
	switch c.UnixSource {
	case "headers":
		way.Trust = source.TrustAll
	case "proxy-protocol":
		l, way.Trust = introduced(l), source.TrustNobody
	}
	return entrance{l, way}, nil
}

// listenOnion opens where Tor brings callers: a socket, or a port of this machine.
// They speak plain HTTP, which is sealed by Tor on its way, and they have half of
// the connections.
func listenOnion(o Onion, callers *crowd) (entrance, error) {
	l, err := o.bind()
	if err != nil {
		return entrance{}, fmt.Errorf("listening for Tor on %s: %w", o.Listen, cause(err))
	}
	way := source.Entrance{Name: "onion", Trust: source.TrustNobody, Onion: true}
	l = callers.bounded(l, callers.half(way.Name))
	if o.Circuits {
		l = introducedByTor(l)
	}
	return entrance{l, way}, nil
}

func (o Onion) bind() (net.Listener, error) {
	if address, ok := o.port(); ok {
		return listen(context.Background(), address, stallAfter)
	}
	l, err := bindSocket(o.Listen, o.Mode, o.Group)
	if err != nil {
		return nil, err
	}
	return stallListener{l, stallAfter}, nil
}

// cause drops what net repeats: the operation and the address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}
