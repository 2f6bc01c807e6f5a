package appliance

import (
	"math"
	"net"
	"slices"
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
// a group with a share of its own that has spent it is closed at once, since it
// would make the others wait.
type crowd struct {
	most    int
	source  func(net.Addr) (key string) // "" identifies nobody, who has all
	mu      sync.Mutex                  // guards the rest, and the connections' own
	open    map[*crowdConn]struct{}
	by      map[string]int // group -> connections; none at zero
	changed *sync.Cond     // some connection is closed, or without a request, or has been for long
}

// group is those of one source, or of one entrance, who have at most so many
// connections together.
type group struct {
	name string
	most int
}

// newCrowd lets most connections be open, and a quarter of them by one source.
func newCrowd(most int, source func(net.Addr) string) *crowd {
	c := &crowd{most: most, source: source, open: map[*crowdConn]struct{}{}, by: map[string]int{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// quarter is what one source has, half what all have who come by one entrance.
func (c *crowd) quarter(name string) group { return group{name, max(c.most/4, 1)} }
func (c *crowd) half(name string) group    { return group{name, max(c.most/2, 1)} }

// groupsOf are those that a connection from an address is in, besides those of
// its entrance.
func (c *crowd) groupsOf(remote net.Addr, entrance []group) []group {
	if source := c.source(remote); source != "" {
		return append(slices.Clone(entrance), c.quarter(source))
	}
	return entrance
}

// admit waits for room for conn. It reports false when one of conn's groups has
// its share, or the listener is closed.
func (c *crowd) admit(conn *crowdConn, closed *bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range conn.groups {
		if !c.room(g) {
			return false
		}
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
	for _, g := range conn.groups {
		c.by[g.name]++
	}
	return !*closed
}

// join puts conn into one more group, once it is known that it is of it. It
// reports false when that has its share, or conn had to go meanwhile.
func (c *crowd) join(conn *crowdConn, g group) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.open[conn]; !there || !c.room(g) {
		return false
	}
	conn.groups = append(slices.Clone(conn.groups), g)
	c.by[g.name]++
	return true
}

// room sees to it that g can have one more connection, and reports whether it can.
func (c *crowd) room(g group) bool { return c.by[g.name] < g.most || c.dismiss(g.name) }

// dismiss closes a connection, of a group if that is not "": the one longest
// without a request or else the slowest. It reports false when none may go.
func (c *crowd) dismiss(group string) bool {
	going := c.unasked(group)
	if going == nil {
		going = c.slowest(group)
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
func (c *crowd) unasked(group string) (longest *crowdConn) {
	for conn := range c.open {
		if conn.busy() || !conn.of(group) {
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
func (c *crowd) slowest(group string) (slowest *crowdConn) {
	now, least := time.Now(), math.Inf(1)
	for conn := range c.open {
		if !conn.busy() || !conn.waits() || now.Sub(conn.begun) < flight.Grace || !conn.of(group) {
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
	for _, g := range conn.groups {
		if c.by[g.name]--; c.by[g.name] == 0 {
			delete(c.by, g.name)
		}
	}
	c.changed.Broadcast()
}
