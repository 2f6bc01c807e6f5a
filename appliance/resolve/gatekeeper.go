package resolve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
)

const (
	maxAnswer      = 1 << 20 // bytes of one answer
	maxConnections = 16      // to one host; further questions wait for one
	maxRedirects   = 5
	askFor         = 10 * time.Second
)

// Gatekeeper asks an Archon Gatekeeper over HTTP. It opens no connection before
// the first question, so it may be built before the Gatekeeper is up.
type Gatekeeper struct {
	Timeout time.Duration // of one question, waiting for a connection included

	base string
	http *http.Client
}

// NewGatekeeper returns a resolver that asks the Gatekeeper at base, an http or
// https URL, and allows it 10 seconds per question.
func NewGatekeeper(base string) (*Gatekeeper, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the Gatekeeper's address must be an http or https URL without query")
	}
	return &Gatekeeper{
		Timeout: askFor,
		base:    strings.TrimRight(base, "/"),
		http: &http.Client{
			CheckRedirect: func(_ *http.Request, via []*http.Request) error {
				if len(via) > maxRedirects {
					return reason("too many redirects")
				}
				return nil
			},
			Transport: &http.Transport{
				Proxy:                  nil, // the Gatekeeper is asked directly, whatever the environment says
				DialContext:            (&net.Dialer{Timeout: askFor}).DialContext,
				TLSHandshakeTimeout:    askFor,
				MaxConnsPerHost:        maxConnections,
				MaxIdleConnsPerHost:    maxConnections,
				IdleConnTimeout:        90 * time.Second,
				MaxResponseHeaderBytes: 64 << 10,
			},
		},
	}, nil
}

// Resolve implements Resolver.
func (g *Gatekeeper) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	status, body, err := g.ask(ctx, id)
	if err != nil {
		return did.Document{}, unanswered("the Gatekeeper", err)
	}
	return read(status, body, id)
}

// Close ends the connections that are kept for the next question.
func (g *Gatekeeper) Close() error {
	g.http.CloseIdleConnections()
	return nil
}

// ask puts the question. The DID goes into the path as it is: its characters
// need no escaping, and its own escapes are part of its name.
func (g *Gatekeeper) ask(ctx context.Context, id did.ID) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/api/v1/did/"+string(id), nil)
	if err != nil {
		return 0, nil, reason("the DID makes no URL")
	}
	req.Header.Set("Accept", "application/json")
	res, err := g.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = reason("the answer is too long")
	}
	return res.StatusCode, body, err
}
