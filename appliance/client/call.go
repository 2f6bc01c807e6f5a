package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxUnasked is how many bytes are sent without asking first whether the relay
// wants them. A refusal that crosses a body on its way is easily lost.
const maxUnasked = 64 << 10

// request is one call as it is sent.
type request struct {
	method, path string
	mediaType    string    // of body; "" without one
	body         io.Reader // nil is none
	size         int64     // of body, in bytes; -1 if it is not known
	wait         time.Duration
}

// open sends r and returns the body of a 200. Any other answer is an *Error. The
// caller closes what it is given.
func (c *Client) open(ctx context.Context, r request) (*answer, error) {
	quiet, ctx := listenFor(ctx, c.Patience, r.wait)
	res, err := c.send(ctx, r, quiet)
	if err != nil {
		quiet.end()
		return nil, err
	}
	a := &answer{ctx: ctx, body: res.Body, quiet: quiet, max: c.MaxAnswer, left: c.MaxAnswer}
	if res.StatusCode != http.StatusOK {
		defer a.Close()
		return nil, refusal(res)
	}
	return a, nil
}

func (c *Client) send(ctx context.Context, r request, quiet *silence) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = io.TeeReader(r.body, quiet) // what is sent breaks the silence too
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		req.ContentLength = r.size
		req.Header.Set("Content-Type", r.mediaType)
		if r.size < 0 || r.size > maxUnasked {
			req.Header.Set("Expect", "100-continue")
		}
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, outageOf(ctx, err)
	}
	quiet.heard()
	return res, nil
}

// answer is the body of an answer as it comes, at most max bytes of it.
type answer struct {
	ctx       context.Context // of the call
	body      io.ReadCloser
	quiet     *silence
	max, left int64 // bytes
}

// Read waits for the next bytes.
func (a *answer) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), a.left+1)]
	n, err := a.body.Read(p)
	a.quiet.heard()
	if int64(n) > a.left {
		n, a.left = int(a.left), 0
		return n, fmt.Errorf("the answer is longer than %d bytes", a.max)
	}
	a.left -= int64(n)
	if err != nil && err != io.EOF {
		err = outageOf(a.ctx, fmt.Errorf("the answer broke off: %w", err))
	}
	return n, err
}

// Close gives the connection up, or back if all of it was read.
func (a *answer) Close() error {
	defer a.quiet.end()
	return a.body.Close()
}

// outageOf is err as the fault of the relay or of the way to it, unless the
// caller's own end of ctx was the cause.
func outageOf(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSilent):
		return outage{cause}
	case cause != nil:
		return err
	default:
		return outage{err}
	}
}
