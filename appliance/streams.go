package appliance

import (
	"net/http"
	"time"
)

// maxStreamWrite is how many bytes of an HTTP/2 answer must go within the stall time.
const maxStreamWrite = 16 << 10

// boundStreams ends an HTTP/2 answer that its reader does not take. The
// connection's own rule does not see that: its peer confirms every byte, and
// holds the stream up by opening no window for it.
func boundStreams(h http.Handler, stall time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			w = &streamWriter{w, http.NewResponseController(w), stall, connOf(r)}
		}
		h.ServeHTTP(w, r)
	})
}

// streamWriter gives every piece of an answer the stall time to be taken.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	conn    *crowdConn // or nil
}

// Write returns when the stream has all of p, or its reader stalls.
func (w *streamWriter) Write(p []byte) (written int, err error) {
	defer w.conn.wait()() // no write of the connection's waits for a window
	for {
		if err := w.control.SetWriteDeadline(time.Now().Add(w.stall)); err != nil {
			return written, err
		}
		piece := p[written:min(len(p), written+maxStreamWrite)]
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// Unwrap lets http.ResponseController find what it wraps.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
