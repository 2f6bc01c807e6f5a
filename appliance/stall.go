package appliance

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stallAfter  = 30 * time.Second // without a byte moving, a connection is given up
	maxUnsent   = 128 << 10        // bytes the kernel holds for a peer before a write waits
	stallChecks = 4                // looks at a waiting write, per stall time
)

// listen opens address for connections that are as slow as they like but do
// not stand still.
func listen(ctx context.Context, address string, stall time.Duration) (net.Listener, error) {
	config := net.ListenConfig{
		// Accepted connections inherit the option. Without it the kernel takes
		// megabytes for a slow reader, and each of them has a message waiting.
		Control: func(_, _ string, raw syscall.RawConn) error {
			var set error
			err := raw.Control(func(fd uintptr) {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
			})
			return errors.Join(err, set)
		},
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4},
	}
	config.SetMultipathTCP(false) // whose sockets know neither the option nor the queue
	inner, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return stallListener{inner, stall}, nil
}

// stallListener accepts connections that end when they stall.
type stallListener struct {
	net.Listener
	stall time.Duration
}

// Accept waits for the next connection.
func (l stallListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	halves := conn.(socket)
	raw, err := halves.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, halves.Close())
	}
	return &socketConn{stallConn{halves, l.stall, func() int { return unacknowledged(raw) }}, halves}, nil
}

// unacknowledged is how many written bytes the peer has not confirmed.
func unacknowledged(raw syscall.RawConn) (bytes int) {
	_ = raw.Control(func(fd uintptr) { // fails on a closed connection, whose write says so itself
		bytes, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	})
	return bytes
}

// stallConn is a connection whose writes have no time limit while the peer
// takes bytes, and fail once it took none for the stall time. It has no
// ReadFrom, which would go around Write.
type stallConn struct {
	net.Conn
	stall          time.Duration
	unacknowledged func() (bytes int)
}

// Write returns when the kernel has all of p, or the peer stalls. It sets the
// connection's write deadline.
func (c stallConn) Write(p []byte) (written int, err error) {
	moved := time.Now()
	for {
		before := c.unacknowledged()
		if err := c.SetWriteDeadline(time.Now().Add(c.stall / stallChecks)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		// Over a link that lost much, the peer may confirm what is sent again
		// for a long time before the kernel takes anything more from us.
		if n > 0 || c.unacknowledged() < before {
			moved = time.Now()
		} else if time.Since(moved) >= c.stall {
			return written, err
		}
	}
}

// socket is a TCP or Unix connection.
type socket interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// socketConn is a stallConn of which one side can be closed.
type socketConn struct {
	stallConn
	socket socket
}

// CloseWrite lets the server end its side first, so that a refused sender reads
// the refusal before the connection is reset.
func (c *socketConn) CloseWrite() error { return c.socket.CloseWrite() }
