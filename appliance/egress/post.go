package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

const (
	maxAnswer     = 128 << 10      // bytes: room for the ids of 3000 mailboxes
	maxRetryAfter = 24 * time.Hour // more is not passed on
)

// post makes one request over conn, which it takes for itself, and returns the
// answer if it is a 2xx.
func post(ctx context.Context, conn net.Conn, to Endpoint, mediaType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, notEndpoint("it is not a URL")
	}
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "holdmail")
	once := over(conn)
	defer once.CloseIdleConnections()
	res, err := once.RoundTrip(req) // which follows no redirect
	if err != nil {
		return nil, unanswered(err)
	}
	defer res.Body.Close()
	if err := refused(res); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil {
		err = ctx.Err() // an answer may end well because the other end sees us leave
	}
	switch {
	case err != nil:
		return nil, unanswered(err)
	case len(answer) > maxAnswer:
		return nil, failed(Relay, fmt.Sprintf("the endpoint's answer is longer than %d bytes", maxAnswer), nil)
	}
	return answer, nil
}

// over makes requests over conn, one of them. They do not say that it is the only one:
// many servers, Go's too, then cut a connection whose body they refuse before their
// refusal is read.
func over(conn net.Conn) *http.Transport {
	given := false
	dial := func(context.Context, string, string) (net.Conn, error) {
		if given {
			return nil, errors.New("a second connection")
		}
		given = true
		return conn, nil
	}
	return &http.Transport{
		Proxy:                  nil, // whatever the environment says
		DialContext:            dial,
		DialTLSContext:         dial, // the handshake is over
		DisableCompression:     true, // a few bytes must stay a few
		MaxIdleConnsPerHost:    -1,   // what comes after the answer is not read
		MaxResponseHeaderBytes: maxHeader,
	}
}

// refused says what an answer other than a 2xx means, or returns nil.
func refused(res *http.Response) error {
	f := &Failure{Party: Relay, Status: res.StatusCode}
	switch class := res.StatusCode / 100; class {
	case 2:
		return nil
	case 3:
		f.Message = fmt.Sprintf("the endpoint redirects (%d), and redirects are not followed", res.StatusCode)
	default:
		f.Message = fmt.Sprintf("the endpoint answered %d", res.StatusCode)
	}
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31); err == nil {
		f.RetryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	return f
}

// unanswered says why there was no whole answer.
func unanswered(err error) *Failure {
	switch {
	case timedOut(err):
		return failed(Relay, "the endpoint did not answer in time", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failed(Relay, "the endpoint hung up before its answer was whole", err)
	}
	return failed(Relay, "the endpoint's answer is not HTTP", err)
}
