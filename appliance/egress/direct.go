package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// nowhere is said both of a name that is not known and of one that leads where we
// do not go: the difference would tell a stranger about the network around us.
const nowhere = "the endpoint's host has no address that this relay delivers to"

// dialHost connects to a host, and to no address that the rules do not allow: the
// one that is really dialled is looked at, after the lookup of the name.
func (c *Courier) dialHost(ctx context.Context, to Endpoint) (net.Conn, error) {
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !c.options.Private && !isPublic(at.Addr()) {
			return ErrForbidden
		}
		return nil
	}}
	conn, err := dialer.DialContext(ctx, "tcp", to.address())
	if err != nil {
		return nil, c.undialled(err)
	}
	return conn, nil
}

// undialled says why a host was not reached.
func (c *Courier) undialled(err error) *Failure {
	var name *net.DNSError
	switch {
	case errors.Is(err, ErrForbidden):
		return failed(Host, nowhere, err)
	case errors.As(err, &name) && name.IsNotFound && !c.options.Private:
		return failed(Host, nowhere, nil)
	case errors.As(err, &name) && name.IsNotFound:
		return failed(Name, "the endpoint's host is not known by that name", nil)
	case errors.As(err, &name) && timedOut(err):
		return failed(Name, "the endpoint's host could not be looked up in time", nil)
	case errors.As(err, &name): // its words tell the name, which is nobody's business
		return failed(Name, "the endpoint's host could not be looked up", errors.New(name.Err))
	case timedOut(err):
		return failed(Host, "the endpoint's host did not take a connection in time", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(Host, "the endpoint's host refused the connection", err)
	}
	return failed(Host, "the endpoint's host cannot be reached", err)
}

func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) || errors.Is(err, os.ErrDeadlineExceeded)
}
