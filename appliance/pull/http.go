package pull

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// What the handler is told beside the request. A sender's own headers of that
// prefix are taken out.
const (
	ours        = "Holdmail-"
	HeaderID    = "Holdmail-Delivery-Id"  // the same for each try
	HeaderURL   = "Holdmail-Original-Url" // as the sender saw it: some sign it
	HeaderTime  = "Holdmail-Received-At"  // RFC 3339, if it waited more than a minute
	HeaderAgain = "Holdmail-Repeat"       // "true" for a Delivery that is a Repeat
)

const (
	placeholder = "{hook}"
	maxReply    = 1 << 20 // bytes of an answer's body
	maxDial     = 10 * time.Second
	timeForm    = "2006-01-02T15:04:05.000Z07:00"
)

// HTTP is a Handler that makes each request again, to a program on this computer or
// its network.
type HTTP struct {
	to     string
	client *http.Client
}

// NewHTTP returns a Handler that asks to, an http or https URL in which {hook}
// stands for the name of the hook. Each request may take as long as within. Redirects
// are handed back as they are.
func NewHTTP(to string, within time.Duration) (*HTTP, error) {
	u, err := url.Parse(strings.ReplaceAll(to, placeholder, "hook"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return nil, errors.New("want an http or https URL, such as http://127.0.0.1:3000/{hook}")
	}
	if u, err = url.Parse(strings.ReplaceAll(to, placeholder, "")); err != nil || u.Host == "" || strings.Contains(hostPart(to), placeholder) {
		return nil, errors.New("{hook} belongs into the path or the query, not into the host")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	// Shorter than within: a computer that is asleep is not there, and has not failed.
	transport.DialContext = (&net.Dialer{Timeout: min(within/2, maxDial)}).DialContext
	transport.DisableCompression = true // the sender's own wish goes on as it is
	transport.DisableKeepAlives = true  // an old connection cannot tell a program that is gone from one that failed
	transport.MaxResponseHeaderBytes = 64 << 10
	return &HTTP{to: to, client: &http.Client{
		Transport:     transport,
		Timeout:       within,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String is where requests go, without the password that may be in it.
func (h *HTTP) String() string {
	if u, err := url.Parse(h.to); err == nil && u.User != nil {
		return strings.NewReplacer("%7B", "{", "%7D", "}").Replace(u.Redacted())
	}
	return h.to
}

func hostPart(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Deliver makes the request, and returns its answer: status, content type, body. Of
// a body over 1 MiB, and of a status that no sender may get, it returns none.
func (h *HTTP) Deliver(ctx context.Context, d Delivery) (delivery.Response, error) {
	req, err := h.request(ctx, d)
	if err != nil {
		return delivery.Response{}, err
	}
	res, err := h.client.Do(req)
	if err != nil {
		return delivery.Response{}, unanswered(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil {
		return delivery.Response{}, fmt.Errorf("its answer broke off: %w", err)
	}
	return answer(res, body), nil
}

// unanswered says why there is no answer, and leaves out the URL: its query is the
// sender's.
func unanswered(err error) error {
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
		return fmt.Errorf("%w: %w", ErrNotThere, op)
	}
	if of, is := errors.AsType[*url.Error](err); is {
		return of.Err
	}
	return err
}

func answer(res *http.Response, body []byte) delivery.Response {
	a := delivery.Response{Status: res.StatusCode}
	if res.StatusCode < 200 || res.StatusCode > 599 {
		return delivery.Response{Status: http.StatusBadGateway}
	}
	if len(body) > maxReply {
		return a
	}
	a.Body = body
	if kind := res.Header.Get("Content-Type"); kind != "" {
		a.Headers = [][2]string{{"Content-Type", kind}}
	}
	return a
}

// request is the sender's, for another place.
func (h *HTTP) request(ctx context.Context, d Delivery) (*http.Request, error) {
	address := strings.ReplaceAll(h.to, placeholder, d.Hook.Name)
	req, err := http.NewRequestWithContext(ctx, d.Request.Method, address, bytes.NewReader(d.Request.Body))
	if err != nil {
		return nil, unanswered(err)
	}
	addQuery(req.URL, d.Request.Query())
	if len(d.Request.Body) == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("User-Agent", "") // none of our own
	for _, pair := range d.Request.Headers {
		if name := http.CanonicalHeaderKey(pair[0]); goesOn(name) {
			if name == "User-Agent" {
				req.Header.Del(name)
			}
			req.Header.Add(name, pair[1])
		}
	}
	tell(req.Header, d)
	return req, nil
}

// addQuery adds the sender's query, which is the one thing that a delivery says of
// where it goes. It stays as it was sent: it may hold what a parser would cut off.
func addQuery(u *url.URL, query string) {
	if u.RawQuery != "" && query != "" {
		query = "&" + query
	}
	u.RawQuery += query
}

// goesOn keeps back what belongs to one connection, or only we may say. Many programs
// cannot tell an underscore from a hyphen there (RFC 3875 §4.1.18).
func goesOn(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	switch name {
	case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "Keep-Alive", "Te", "Trailer", "Upgrade", "Proxy-Connection":
		return false
	}
	return !strings.HasPrefix(name, ours)
}

func tell(h http.Header, d Delivery) {
	h.Set(HeaderID, d.ID)
	h.Set(HeaderURL, d.Request.URL)
	if d.Waited {
		h.Set(HeaderTime, d.Received.UTC().Format(timeForm))
	}
	if d.Repeat {
		h.Set(HeaderAgain, "true")
	}
}
