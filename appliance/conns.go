package appliance

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// maxPiece is how many bytes of an answer are written before they are counted: more
// than a TLS record.
const maxPiece = 20 << 10

// crowdConn is a connection in a crowd.
type crowdConn struct {
	*socketConn
	crowd     *crowd
	groups    []group
	requests  int       // under way, in HTTP/2
	answering bool      // one is under way, or its answer is, in HTTP/1
	since     time.Time // when it began to be without one
	begun     time.Time // when the first of those under way came
	before    int64     // bytes that had moved by then

	read, written atomic.Int64 // bytes
	waiting       atomic.Int32 // reads of bodies and writes of answers, under way
}

// Read counts what it reads.
func (conn *crowdConn) Read(p []byte) (int, error) {
	n, err := conn.socketConn.Read(p)
	conn.read.Add(int64(n))
	return n, err
}

// Write counts what it writes, a piece at a time: a long answer is no slower than
// a short one.
func (conn *crowdConn) Write(p []byte) (written int, err error) {
	defer conn.wait()()
	for {
		n, err := conn.socketConn.Write(p[written:min(len(p), written+maxPiece)])
		written += n
		conn.written.Add(int64(n))
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// wait notes that the caller is waited for, to send or to take bytes of a request,
// until done. conn may be nil.
func (conn *crowdConn) wait() (done func()) {
	if conn == nil {
		return func() {}
	}
	conn.waiting.Add(1)
	return func() { conn.waiting.Add(-1) }
}

// of reports whether the connection is in the group of that name; "" is everybody.
func (conn *crowdConn) of(name string) bool {
	return name == "" || slices.ContainsFunc(conn.groups, func(g group) bool { return g.name == name })
}

// busy reports whether a request is under way.
func (conn *crowdConn) busy() bool { return conn.requests > 0 || conn.answering }

// waits reports whether it is the caller who is waited for.
func (conn *crowdConn) waits() bool { return conn.waiting.Load() > 0 }

// moved is how many bytes came and went. What the kernel has but the peer has not
// taken did not go: it is much, beside what a slow reader takes.
func (conn *crowdConn) moved() int64 {
	return conn.read.Load() + conn.written.Load() - int64(conn.unacknowledged())
}

// speed is in bytes per second, while requests have been under way.
func (conn *crowdConn) speed(now time.Time) float64 {
	return float64(conn.moved()-conn.before) / now.Sub(conn.begun).Seconds()
}

// begin is for the first of the requests under way.
func (conn *crowdConn) begin() { conn.begun, conn.before = time.Now(), conn.moved() }

// Close makes room for another.
func (conn *crowdConn) Close() error {
	conn.crowd.mu.Lock()
	conn.crowd.forget(conn)
	conn.crowd.mu.Unlock()
	return conn.socketConn.Close()
}

// bounded accepts inner's connections, which must be *socketConn, into the crowd,
// and into the groups of this entrance.
func (c *crowd) bounded(inner net.Listener, entrance ...group) net.Listener {
	return &crowdListener{Listener: inner, crowd: c, entrance: entrance}
}

type crowdListener struct {
	net.Listener
	crowd    *crowd
	entrance []group
	closed   bool // guarded by the crowd's lock
}

// Accept waits for the next connection, and for room.
func (l *crowdListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		socket := conn.(*socketConn)
		admitted := &crowdConn{socketConn: socket, crowd: l.crowd, groups: l.crowd.groupsOf(socket.RemoteAddr(), l.entrance)}
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

// connOf is the connection that r came by, or nil if that is of no crowd.
func connOf(r *http.Request) *crowdConn {
	conn, _ := r.Context().Value(crowdKey{}).(*crowdConn)
	return conn
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
		conn := connOf(r)
		switch {
		case conn == nil:
		case r.ProtoMajor == 1:
			conn.note(func() { conn.answering = true; conn.begin() }) // until its answer is out
		default:
			conn.note(func() {
				if conn.requests++; conn.requests == 1 {
					conn.begin()
				}
			})
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
