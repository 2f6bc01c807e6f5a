package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"
	"time"
)

// caller is a client on a connection that is kept, for benchmarks. It speaks
// just enough HTTP/1.1 for this relay. It shares the relay's processors, and
// net/http's client would take about as much of them as the relay does: what is
// measured ought to be the relay.
type caller struct {
	conn   net.Conn
	in     *bufio.Reader
	host   string
	head   []byte // of the last request
	answer []byte // of the last answer, without its head
}

// dial opens a connection to the relay.
func (r *relay) dial() (*caller, error) {
	host := strings.TrimPrefix(r.URL, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), host: host}, conn.SetDeadline(time.Now().Add(5 * time.Minute))
}

// callers opens n connections that stay open until the benchmark ends.
func (r *relay) callers(b testing.TB, n int) []*caller {
	b.Helper()
	all := make([]*caller, n)
	for i := range all {
		c, err := r.dial()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.conn.Close() })
		all[i] = c
	}
	return all
}

// call sends one request and reads its answer, which must be a 200. The answer
// is good until the next call.
func (c *caller) call(method, path, contentType string, body []byte) ([]byte, error) {
	c.head = fmt.Appendf(c.head[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.host)
	if body != nil {
		c.head = fmt.Appendf(c.head, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
	}
	c.head = append(c.head, "\r\n"...)
	request := net.Buffers{c.head, body}
	if _, err := request.WriteTo(c.conn); err != nil {
		return nil, err
	}
	return c.receive()
}

// receive reads one answer.
func (c *caller) receive() ([]byte, error) {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return nil, fmt.Errorf("answered %q", status)
	}
	length, chunked := 0, false
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		name, value, more := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		switch {
		case !more:
			return c.body(length, chunked)
		case string(name) == "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		case string(name) == "Transfer-Encoding":
			chunked = true
		}
	}
}

// body reads the rest of an answer.
func (c *caller) body(length int, chunked bool) ([]byte, error) {
	b := bytes.NewBuffer(c.answer[:0])
	if chunked {
		if _, err := b.ReadFrom(httputil.NewChunkedReader(c.in)); err != nil {
			return nil, err
		}
		c.answer = b.Bytes()
		_, err := c.in.Discard(len("\r\n")) // no trailers
		return c.answer, err
	}
	b.Grow(length)
	c.answer = b.AvailableBuffer()[:length]
	_, err := io.ReadFull(c.in, c.answer)
	return c.answer, err
}

// deposit posts a packed envelope.
func (c *caller) deposit(packed []byte) error {
	_, err := c.call("POST", "/api/v1/messages", packedType, packed)
	return err
}

// challenge asks for a fresh challenge.
func (c *caller) challenge() (string, error) {
	answer, err := c.call("GET", "/api/v1/challenge", "", nil)
	if err != nil {
		return "", err
	}
	return textOf(answer, "challenge")
}

// fetch has w prove itself, fetches all its mail, and returns the answer.
func (c *caller) fetch(w wallet) ([]byte, error) {
	challenge, err := c.challenge()
	if err != nil {
		return nil, err
	}
	return c.call("POST", "/api/v1/messages/fetch", "application/json", w.proof(challenge))
}

// remove has w prove itself and acknowledges ids.
func (c *caller) remove(w wallet, ids ...string) error {
	challenge, err := c.challenge()
	if err != nil {
		return err
	}
	removed, err := c.call("POST", "/api/v1/messages/remove", "application/json", w.proof(challenge, ids...))
	if err == nil && string(removed) != fmt.Sprintf(`{"removed":%d}`, len(ids)) {
		err = fmt.Errorf("removing %d: %s", len(ids), removed)
	}
	return err
}

// pickUp fetches the one message that waits for w, and removes it.
func (c *caller) pickUp(w wallet) error {
	mail, err := c.fetch(w)
	if err != nil {
		return err
	}
	id, err := textOf(mail, "id")
	if err != nil {
		return err
	}
	return c.remove(w, id)
}

// drain fetches all that waits for w, removes it, and returns how many it was.
func (c *caller) drain(w wallet) (int, error) {
	mail, err := c.fetch(w)
	if err != nil {
		return 0, err
	}
	var ids []string
	for item := range bytes.SplitSeq(mail, []byte(`{"id":"`)) {
		if id, _, ok := bytes.Cut(item, []byte(`","message":`)); ok {
			ids = append(ids, string(id))
		}
	}
	return len(ids), c.remove(w, ids...)
}

// textOf finds the first member called name in an answer, a string without
// escapes.
func textOf(answer []byte, name string) (string, error) {
	_, rest, _ := bytes.Cut(answer, []byte(`"`+name+`":"`))
	text, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return "", fmt.Errorf("no %s in %s", name, answer)
	}
	return string(text), nil
}
