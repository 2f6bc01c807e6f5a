// Package client makes a wallet's calls to a relay.
//
// It trusts nothing that the relay answers: sizes are bounded, and an answer
// that ends early is an error. It opens no envelope.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	defaultMaxAnswer = 64 << 20 // room for a full mailbox of 16 MiB, escapes included
	maxError         = 64 << 10 // bytes of an answer that is not a 200
)

// Client calls one relay. It is safe for concurrent use.
type Client struct {
	// HTTP makes the calls. New sets one that asks the environment for proxies
	// and has no time limit: the context of each call is the limit.
	HTTP *http.Client
	// MaxAnswer is how many bytes of an answer are taken; a longer one is an
	// error. New sets 64 MiB.
	MaxAnswer int64

	base string
}

// New returns a client of the relay at base: an http or https URL, with or
// without a trailing slash, and with or without the base path /didcomm.
func New(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("a relay's address is an http or https URL without query, such as http://localhost:4236")
	}
	return &Client{HTTP: &http.Client{}, MaxAnswer: defaultMaxAnswer, base: strings.TrimRight(base, "/")}, nil
}

// get asks for path and decodes the answer into answer.
func (c *Client) get(ctx context.Context, path string, answer any) error {
	return c.call(ctx, http.MethodGet, path, "", nil, answer)
}

// post sends body as JSON to path and decodes the answer into answer.
func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	return c.call(ctx, http.MethodPost, path, "application/json", b, answer)
}

// call makes one call. An answer other than 200 is an *Error.
func (c *Client) call(ctx context.Context, method, path, mediaType string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusal(res)
	}
	return decode(res.Body, c.MaxAnswer, answer)
}

// decode reads one JSON value, all of it, of at most limit bytes.
func decode(r io.Reader, limit int64, answer any) error {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if int64(len(b)) > limit {
		return fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return fmt.Errorf("the answer is not what a relay says: %w", err)
	}
	return nil
}
