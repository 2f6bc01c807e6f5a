package appliance

import (
	"context"
	"net"
	"net/http"
	"time"
)

// crowdConn is a connection in a crowd.
type crowdConn struct {
	*socketConn
	crowd     *crowd
	source    string
	requests  int       // under way, in HTTP/2
	answering bool      // one is under way, or its answer is, in HTTP/1
	since     time.Time // when it began to be without one
}

// Close makes room for another.
func (conn *crowdConn) Close() error {
	conn.crowd.mu.Lock()
	conn.crowd.forget(conn)
	conn.crowd.mu.Unlock()
	return conn.socketConn.Close()
}

// bounded accepts inner's connections, which must be *socketConn, into the crowd.
func (c *crowd) bounded(inner net.Listener) net.Listener {
	return &crowdListener{Listener: inner, crowd: c}
}

type crowdListener struct {
	net.Listener
	crowd  *crowd
	closed bool // guarded by the crowd's lock
}

// Accept waits for the next connection, and for room.
func (l *crowdListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		socket := conn.(*socketConn)
		admitted := &crowdConn{socketConn: socket, crowd: l.crowd, source: l.crowd.source(socket.RemoteAddr())}
		if l.crowd.admit(admitted, &l.closed) {
			return admitted, nil
		}
		_ = socket.Close() // who closed it first does not matter
	}
}

// Close ends an Accept that waits for room, too.
func (l *crowdListener) Close() error {
	l.crowd.mu.Lock()
	l.closed = true
	l.crowd.changed.Broadcast()
	l.crowd.mu.Unlock()
	return l.Listener.Close()
}

type crowdKey struct{}

// introduce is for http.Server.ConnContext: it tells requests their connection.
func introduce(ctx context.Context, conn net.Conn) context.Context {
	if member := memberOf(conn); member != nil {
		ctx = context.WithValue(ctx, crowdKey{}, member)
	}
	return ctx
}

// rest is for http.Server.ConnState: it hears when an answer is out.
func rest(conn net.Conn, state http.ConnState) {
	if member := memberOf(conn); member != nil && state == http.StateIdle {
		member.note(func() { member.answering = false })
	}
}

// memberOf finds the connection of a crowd in what was put around it, or nil.
func memberOf(conn net.Conn) *crowdConn {
	for {
		switch outer := conn.(type) {
		case *crowdConn:
			return outer
		case interface{ NetConn() net.Conn }: // TLS
			conn = outer.NetConn()
		case interface{ Raw() net.Conn }: // the PROXY protocol
			conn = outer.Raw()
		default:
			return nil
		}
	}
}

// occupied keeps connections in their crowd while h answers a request on them.
func occupied(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, ok := r.Context().Value(crowdKey{}).(*crowdConn)
		switch {
		case !ok:
		case r.ProtoMajor == 1:
			conn.note(func() { conn.answering = true }) // until its answer is out
		default:
			conn.note(func() { conn.requests++ })
			defer conn.note(func() { conn.requests-- })
		}
		h.ServeHTTP(w, r)
	})
}

// note changes what is known of the connection's requests.
func (conn *crowdConn) note(change func()) {
	conn.crowd.mu.Lock()
	defer conn.crowd.mu.Unlock()
	change()
	conn.since = time.Now()
	conn.crowd.changed.Broadcast()
}
