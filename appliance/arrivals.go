package appliance

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/source"
)

const (
	slowFor  = time.Minute // is what slowPart of a body may take,
	slowPart = 60 << 10    // bytes: one KiB a second

	leaveAfter = 2 * time.Second // is how long a body is waited for that was left unread
)

// arrivals begins a load in the shared memory for each request, and bounds how
// slowly a body comes, also where h leaves it unread: never stallAfter without
// a byte, never more than slowFor for the next slowPart, and leaveAfter once there
// is an answer. It comes behind source.Identify.
func arrivals(h http.Handler, shared sharedMemory) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasBody(r) {
			load := shared.begin(source.Of(r), func() {})
			defer load.Release()
			load.Settle() // all of it is here
			h.ServeHTTP(w, r.WithContext(flight.With(r.Context(), load)))
			return
		}
		in := &arriving{ReadCloser: r.Body, control: http.NewResponseController(w), due: time.Now().Add(slowFor)}
		in.load, in.conn = shared.begin(source.Of(r), in.end), connOf(r)
		defer in.leave()
		r = r.WithContext(flight.With(r.Context(), in.load))
		r.Body = in
		h.ServeHTTP(w, r)
	})
}

// arriving is a body on its way. It owns the read deadline while it is.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
	load    *flight.Load
	conn    *crowdConn  // or nil
	part    int         // bytes there are of the next slowPart
	due     time.Time   // when that must be there
	whole   bool        // it has all arrived
	ended   atomic.Bool // it must go for another
}

// Read waits for the next bytes. It returns flight.ErrEnded when the body is not
// waited for any more, since memory is short and others are faster.
func (in *arriving) Read(p []byte) (int, error) {
	in.wait(earlier(time.Now().Add(stallAfter), in.due))
	if in.ended.Load() { // it may have been, before the deadline was set
		return 0, flight.ErrEnded
	}
	done := in.conn.wait()
	n, err := in.ReadCloser.Read(p)
	done()
	in.load.Arrived(n)
	if in.part += n; in.part >= slowPart {
		in.part, in.due = 0, time.Now().Add(slowFor)
	}
	switch {
	case err == io.EOF:
		in.whole = true
		in.load.Settle()
		in.wait(time.Time{})
	case err != nil && in.ended.Load():
		err = flight.ErrEnded
	}
	return n, err
}

// end interrupts a Read that waits. It may be called from anywhere.
func (in *arriving) end() {
	in.ended.Store(true)
	in.wait(time.Unix(1, 0))
}

// leave gives the server, after the answer, only so long for what was left unread.
func (in *arriving) leave() {
	in.load.Release()
	if !in.whole {
		in.wait(time.Now().Add(leaveAfter))
	}
}

// wait bounds reading. A writer that knows no deadlines is no network connection.
func (in *arriving) wait(until time.Time) { _ = in.control.SetReadDeadline(until) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
