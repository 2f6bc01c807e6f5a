package door

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/holdmail/holdmail/appliance/flight"
)

// inflate opens a compressed body.
type inflate func(io.Reader) (io.Reader, error)

var errTrailing = errors.New("bytes behind the end of the compressed body")

// inflater returns how a body with these headers is inflated, nil if it comes
// as it is. One coding is all a body may have.
func inflater(h http.Header) (inflate, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ","))) {
	case "", "identity":
		return nil, nil
	case "gzip":
		return func(in io.Reader) (io.Reader, error) { return gzip.NewReader(in) }, nil
	case "deflate":
		return func(in io.Reader) (io.Reader, error) { return zlib.NewReader(in) }, nil
	}
	return nil, &Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "content encoding is not one of gzip, deflate, identity",
		Close:   true,
	}
}

// deflatedAtMost bounds the compressed size of a body of limit bytes: what
// cannot be compressed grows a little, and a stream of endless empty members
// must end somewhere.
func deflatedAtMost(limit int64) int64 { return limit + limit/64 + 1024 }

// inflaterBytes is what inflating takes besides what comes of it: the last 32 KiB
// of that, tables and a buffer.
const inflaterBytes = 48 << 10

// inflated reads in to its end and returns at most limit bytes of plain text.
func inflated(in io.Reader, open inflate, load *flight.Load, limit int64) ([]byte, error) {
	if err := load.Hold(inflaterBytes); err != nil {
		return nil, err
	}
	defer load.Drop(inflaterBytes)
	compressed := bufio.NewReader(in)
	plain, err := open(compressed)
	if err != nil {
		return nil, err
	}
	body, err := readAll(plain, load, -1, limit)
	if err != nil {
		return nil, err
	}
	switch _, err := compressed.ReadByte(); err {
	case io.EOF:
		return body, nil
	case nil:
		return nil, errTrailing
	default:
		return nil, err
	}
}
