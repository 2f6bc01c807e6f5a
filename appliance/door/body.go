package door

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
	"unicode/utf8"
)

// StallTime is how long a caller may leave us without a byte of its body.
const StallTime = 30 * time.Second

// firstRoom is the room that a body is given before any of it is there, in
// bytes: a declared length alone buys no more.
const firstRoom = 16 << 10

var errOverLimit = errors.New("body is over the limit")

// Body reads a request's body: at most limit bytes, counted after inflating it
// if it comes in gzip or deflate, and without a leading byte order mark. What
// it returns is valid UTF-8. Every error is an *Error: 413 over the limit
// (before the body, if its declared length tells), 415 for another coding, 408
// for a caller that sends no byte for StallTime, 400 for all else.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	inflate, err := inflater(r.Header)
	if err != nil {
		return nil, err
	}
	most := limit
	if inflate != nil {
		most = deflatedAtMost(limit)
	}
	if r.ContentLength > most {
		return nil, tooLarge(limit)
	}
	in := &wire{body: r.Body, left: most, control: http.NewResponseController(w)}
	defer in.release()
	var body []byte
	if inflate == nil {
		body, err = readAll(in, room(r.ContentLength), limit)
	} else {
		body, err = inflated(in, inflate, limit)
	}
	if err != nil {
		return nil, in.refusal(err, limit)
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if !utf8.Valid(body) {
		return nil, &Error{Status: http.StatusBadRequest, Message: "body is not UTF-8"}
	}
	return body, nil
}

// room is what a body of a declared length, -1 if there is none, is given to
// begin with. Its end shows only behind its last byte.
func room(declared int64) int64 {
	if declared < 0 {
		return firstRoom
	}
	return min(declared+1, firstRoom)
}

// readAll reads in to its end, or returns errOverLimit if that lies beyond
// limit bytes. It begins with room and doubles it as bytes arrive.
func readAll(in io.Reader, room, limit int64) ([]byte, error) {
	buf := make([]byte, 0, min(room, limit+1))
	for {
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errOverLimit
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(2*int64(cap(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

// wire is a body as it arrives: at most left bytes of it, and never StallTime
// without one.
type wire struct {
	body    io.Reader
	left    int64
	control *http.ResponseController
	err     error // what ended it: io.EOF, or why it was not read to its end
}

// Read waits for the next bytes.
func (in *wire) Read(p []byte) (int, error) {
	// A writer that knows no deadlines is no network connection.
	_ = in.control.SetReadDeadline(time.Now().Add(StallTime))
	n, err := in.body.Read(p)
	if in.left -= int64(n); in.left < 0 {
		err = errOverLimit
	}
	in.err = err
	return n, err
}

// release takes the deadline off a connection that can be used again. Where the
// body was not read to its end it stays, since net/http drains the rest.
func (in *wire) release() {
	if in.err == io.EOF {
		_ = in.control.SetReadDeadline(time.Time{})
	}
}

// refusal tells the caller why reading its body ended in err.
func (in *wire) refusal(err error, limit int64) *Error {
	if errors.Is(err, errOverLimit) {
		return tooLarge(limit)
	}
	e := &Error{Status: http.StatusBadRequest, Message: "body ended early", Close: true, Cause: err}
	timeout, ok := errors.AsType[net.Error](in.err)
	switch {
	case ok && timeout.Timeout():
		e.Status, e.Message = http.StatusRequestTimeout, "body stalled"
	case in.err == nil || in.err == io.EOF:
		e.Message = "body does not inflate"
	}
	return e
}

func tooLarge(limit int64) *Error {
	return &Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("body is over the limit of %d bytes", limit),
		Close:   true,
	}
}
