// Package client makes a wallet's calls to a relay.
//
// It trusts nothing that the relay answers: sizes are bounded, and an answer
// that ends early is an error. It opens no envelope, and keeps none: what comes
// is handed on as it comes.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	defaultMaxAnswer = 64 << 20 // room for a full mailbox of 16 MiB, escapes included
	defaultPatience  = time.Minute
	maxError         = 64 << 10         // bytes of an answer that is not a 200
	slowAnswer       = 30 * time.Second // there and back through six relays of Tor
)

// Client calls one relay. It is safe for concurrent use.
type Client struct {
	// HTTP makes the calls. New sets one that asks the environment for proxies,
	// follows no redirect, since a relay has none, and has no time limit.
	HTTP *http.Client
	// MaxAnswer is how many bytes of an answer are taken; a longer one is an
	// error. New sets 64 MiB.
	MaxAnswer int64
	// Patience is how long a call may go on with nothing sent or heard; 0 is for
	// ever. New sets a minute.
	Patience time.Duration
	// Audience is the one name of the relay that proofs are made for: the endpoint
	// that the caller knows it by. With it no plain proof is ever made. Without it,
	// as New leaves it, a proof is made for a relay that names itself by the address
	// that is called, and is a plain one for any other.
	Audience string

	base    string
	proxied bool // by Through
}

// New returns a client of the relay at base: an http or https URL, with or
// without a trailing slash, and with or without the base path /didcomm.
func New(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("a relay's address is an http or https URL without query, such as http://localhost:4236")
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		HTTP:      &http.Client{CheckRedirect: stay},
		MaxAnswer: defaultMaxAnswer,
		Patience:  defaultPatience,
		base:      strings.TrimRight(base, "/"),
	}, nil
}

// Through makes all calls go through a SOCKS5 proxy, which is Tor where the relay
// has an onion address. The proxy is told the relay's name and looks it up
// itself: nobody else hears it.
func (c *Client) Through(socks string) error {
	host, port, err := net.SplitHostPort(socks)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		return errors.New("a SOCKS proxy is an address and a port, such as 127.0.0.1:9050")
	}
	way := http.DefaultTransport.(*http.Transport).Clone()
	way.Proxy = http.ProxyURL(&url.URL{Scheme: "socks5h", Host: socks})
	way.TLSHandshakeTimeout = slowAnswer
	way.ExpectContinueTimeout = slowAnswer
	c.HTTP.Transport, c.proxied = way, true
	return nil
}

// get asks for path and decodes the answer into into.
func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path}, into)
}

// post sends body as JSON to path and decodes the answer into into.
func (c *Client) post(ctx context.Context, path string, body, into any) error {
	r, err := jsonRequest(path, body)
	if err != nil {
		return err
	}
	return c.call(ctx, r, into)
}

func jsonRequest(path string, body any) (request, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return request{}, fmt.Errorf("writing the request: %w", err)
	}
	return request{method: http.MethodPost, path: path, mediaType: "application/json", body: bytes.NewReader(b), size: int64(len(b))}, nil
}

// call makes one call whose answer is short, and decodes all of it.
func (c *Client) call(ctx context.Context, r request, into any) error {
	a, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := io.ReadAll(a)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return nil
}
