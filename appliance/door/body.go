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

	"github.com/holdmail/holdmail/appliance/flight"
)

var errOverLimit = errors.New("body is over the limit")

// Body reads a request's body: at most limit bytes, counted after inflating it
// if it comes in gzip or deflate, and without a leading byte order mark. What
// it returns is valid UTF-8. All that is held for it, RoomFor(limit) at most,
// is held by the request's flight.Load. Every error is an *Error: 413 over the
// limit (before the body, if its declared length tells), 415 for another coding,
// 408 for a caller that is too slow, 503 when memory is short, 400 for all else.
func Body(r *http.Request, limit int64) ([]byte, error) {
	inflate, most, err := expected(r, limit)
	if err != nil {
		return nil, err
	}
	in, load := &wire{body: r.Body, left: most}, flight.Of(r.Context())
	var body []byte
	if inflate == nil {
		body, err = readAll(in, load, r.ContentLength, limit)
	} else {
		body, err = inflated(in, inflate, load, limit)
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

// Raw reads a request's body as it was sent, to the byte: at most limit of them. Its
// errors are those of Body. What it holds, RoomFor(limit) at most, the caller has
// made room for.
func Raw(r *http.Request, limit int64) ([]byte, error) {
	if err := RawRefusedUnread(r, limit); err != nil {
		return nil, err
	}
	in := &wire{body: r.Body, left: limit}
	body, err := readAll(in, nil, r.ContentLength, limit)
	if err != nil {
		return nil, in.refusal(err, limit)
	}
	return body, nil
}

// RawRefusedUnread returns the error with which Raw refuses a request by its headers
// alone, or nil.
func RawRefusedUnread(r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	return nil
}

// RefusedUnread returns the error with which Body refuses a request by its headers
// alone, or nil.
func RefusedUnread(r *http.Request, limit int64) error {
	_, _, err := expected(r, limit)
	return err
}

// expected is how a body will be inflated, nil if not at all, and how many bytes
// of it may arrive.
func expected(r *http.Request, limit int64) (inflate inflate, most int64, err error) {
	if inflate, err = inflater(r.Header); err != nil {
		return nil, 0, err
	}
	most = limit
	if inflate != nil {
		most = deflatedAtMost(limit)
	}
	if r.ContentLength > most {
		return nil, 0, tooLarge(limit)
	}
	return inflate, most, nil
}

// wire is a body as it arrives: at most left bytes of it.
type wire struct {
	body io.Reader
	left int64
	err  error // what ended it: io.EOF, or why it was not read to its end
}

// Read waits for the next bytes.
func (in *wire) Read(p []byte) (int, error) {
	n, err := in.body.Read(p)
	if in.left -= int64(n); in.left < 0 {
		err = errOverLimit
	}
	in.err = err
	return n, err
}

// refusal tells the caller why reading its body ended in err.
func (in *wire) refusal(err error, limit int64) *Error {
	if errors.Is(err, errOverLimit) {
		return tooLarge(limit)
	}
	e := &Error{Status: http.StatusBadRequest, Message: "body ended early", Close: true, Cause: err}
	timeout, ok := errors.AsType[net.Error](in.err)
	switch {
	case errors.Is(err, flight.ErrBusy), errors.Is(err, flight.ErrEnded):
		e.Status, e.Message, e.RetryAfter = http.StatusServiceUnavailable, err.Error(), MemoryRetryAfter
	case ok && timeout.Timeout():
		e.Status, e.Message = http.StatusRequestTimeout, "body stalled"
	case in.err == nil || in.err == io.EOF:
		e.Message = "body does not inflate"
	}
	return e
}

// MemoryRetryAfter is when those come again for whom there was no memory.
const MemoryRetryAfter = 10 * time.Second

func tooLarge(limit int64) *Error {
	return &Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("body is over the limit of %d bytes", limit),
		Close:   true,
	}
}
