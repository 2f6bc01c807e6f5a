package appliance

import (
	"math"
	"net"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/flight"
)

// unaskedFor is how long a connection without a request is left alone.
const unaskedFor = 2 * time.Second

// crowd bounds the connections that are open. Where there is no room, the one that
// has been without a request longest goes: kept for a next one, or with none yet.
// If none has been for long, the slowest goes of those whose requests have been
// under way for flight.Grace and wait for their callers, to send or to take bytes.
// One that waits for something else, such as mail, stays: it is not its caller who
// is slow, and fetches that wait are bounded by maxWaiters.
// While there is none that may go, a newcomer waits, and those behind it wait in the kernel's
// backlog: a client that is let in late is better off than one that is refused. But
// a source with a share of its own that has spent it is closed at once, since it
// would make the others wait.
type crowd struct {
	most, share int                         // connections: all, and of one source
	source      func(net.Addr) (key string) // "" identifies nobody, who has all
	mu          sync.Mutex                  // guards the rest, and the connections' own
	open        map[*crowdConn]struct{}
	by          map[string]int // source -> connections; none at zero
	changed     *sync.Cond     // some connection is closed, or without a request, or has been for long
}

// newCrowd lets most connections be open, and a quarter of them by one source.
func newCrowd(most int, source func(net.Addr) string) *crowd {
	c := &crowd{most: most, share: max(most/4, 1), source: source, open: map[*crowdConn]struct{}{}, by: map[string]int{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// admit waits for room for conn. It reports false when conn's source has its
// share, or the listener is closed.
func (c *crowd) admit(conn *crowdConn, closed *bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.source != "" && c.by[conn.source] >= c.share && !c.dismiss(conn.source) {
		return false
	}
	for len(c.open) >= c.most && !c.dismiss("") {
		if *closed {
			return false
		}
		wake := time.AfterFunc(unaskedFor/4, c.changed.Broadcast)
		c.changed.Wait()
		wake.Stop()
	}
	conn.since = time.Now()
	c.open[conn] = struct{}{}
	c.by[conn.source]++
	return !*closed
}

// dismiss closes a connection, of source if that is not "": the one longest
// without a request or else the slowest. It reports false when none may go.
func (c *crowd) dismiss(source string) bool {
	going := c.unasked(source)
	if going == nil {
		going = c.slowest(source)
	}
	if going == nil {
		return false
	}
	c.forget(going)
	_ = going.socketConn.Close() // the server finds out when it reads or writes
	return true
}

// unasked is the connection that has been without a request longest, or nil when
// none has been for long.
func (c *crowd) unasked(source string) (longest *crowdConn) {
	for conn := range c.open {
		if conn.busy() || source != "" && conn.source != source {
			continue
		}
		if longest == nil || conn.since.Before(longest.since) {
			longest = conn
		}
	}
	if longest == nil || time.Since(longest.since) < unaskedFor {
		return nil
	}
	return longest
}

// slowest is the connection that moves the fewest bytes a second, of those that
// wait for their callers and have done so for long enough to tell; nil if none has.
func (c *crowd) slowest(source string) (slowest *crowdConn) {
	now, least := time.Now(), math.Inf(1)
	for conn := range c.open {
		if !conn.busy() || !conn.waits() || now.Sub(conn.begun) < flight.Grace || source != "" && conn.source != source {
			continue
		}
		if speed := conn.speed(now); speed < least {
			slowest, least = conn, speed
		}
	}
	return slowest
}

// forget takes conn out of the crowd, if it is there.
func (c *crowd) forget(conn *crowdConn) {
	if _, there := c.open[conn]; !there {
		return
	}
	delete(c.open, conn)
	if c.by[conn.source]--; c.by[conn.source] == 0 {
		delete(c.by, conn.source)
	}
	c.changed.Broadcast()
}
