package resolve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/egress"
)

const (
	webWithin  = 5 * time.Second // of one question, waiting for its turn included
	webAtOnce  = 16              // questions to all hosts
	maxWebBody = 64 << 10        // bytes of one document
)

// Web resolves did:web by asking the host that the DID names, over https. Where it
// may go, egress decides.
type Web struct {
	http  *http.Client
	turns chan struct{} // one in it for each question under way
}

// NewWeb returns a resolver that goes where rules allow. It asks at most 16 hosts at
// one time, each with at most two questions, for five seconds and 64 KiB each.
func NewWeb(rules egress.Rules) *Web {
	return &Web{http: rules.Client(webWithin), turns: make(chan struct{}, webAtOnce)}
}

// Resolve implements Resolver. The document must say that it is id's.
func (w *Web) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, webWithin)
	defer cancel()
	select {
	case w.turns <- struct{}{}:
		defer func() { <-w.turns }()
	case <-ctx.Done():
		return did.Document{}, fmt.Errorf("%w: did:web: too many hosts are being asked", ErrUnreachable)
	}
	status, body, err := w.ask(ctx, id)
	switch {
	case err != nil:
		return did.Document{}, webUnanswered(err)
	case status == http.StatusNotFound || status == http.StatusGone:
		return did.Document{}, fmt.Errorf("%w: its host says so (%d)", ErrNotFound, status)
	case status != http.StatusOK:
		return did.Document{}, fmt.Errorf("%w: did:web: its host answered %d", ErrUnreachable, status)
	}
	doc, err := did.Authentication(body, id)
	if doc.ID != string(id) {
		return did.Document{}, fmt.Errorf("%w: its host has no document of it", ErrNotFound)
	}
	return doc, err
}

func (w *Web) ask(ctx context.Context, id did.ID) (status int, body []byte, err error) {
	u, err := did.WebURL(id)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, nil, did.ErrNotWeb
	}
	req.Header.Set("Accept", "application/did+json, application/did+ld+json, application/json")
	req.Header.Set("User-Agent", "holdmail")
	res, err := w.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxWebBody+1))
	if err == nil && len(body) > maxWebBody {
		err = errTooLong
	}
	return res.StatusCode, body, err
}

var errTooLong = errors.New("the document is too long")

// webUnanswered says why there was no answer, in words that hold no part of the DID.
// What asking again cannot change is ErrNotFound, and all that is refused by us looks
// alike, so that it tells a stranger nothing about the network around us.
func webUnanswered(err error) error {
	var name *net.DNSError
	switch {
	case errors.Is(err, did.ErrNotWeb):
		return fmt.Errorf("%w: %w", ErrNotFound, did.ErrNotWeb)
	case errors.Is(err, egress.ErrForbidden), errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("%w: its host is none that may be asked", ErrNotFound)
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w: its document is longer than %d bytes", ErrNotFound, maxWebBody)
	}
	return unanswered("did:web: its host", err)
}
