package pull

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/onion"
)

var (
	// ErrOtherKey says that the relay seals for another computer's key.
	ErrOtherKey = errors.New("the relay is another computer's")
	// ErrToken says that the relay does not take our token.
	ErrToken = errors.New("the relay refuses this computer's token: it has the setup code of another key")
	// ErrNoDoor says that there is no webhook door.
	ErrNoDoor = errors.New("the relay has no webhook door: it was given no setup code, or it is something else")
)

// Relay makes a home computer's calls to its relay.
type Relay struct {
	base, token string
	http        *http.Client
	patience    time.Duration // for what is not heard, beyond the wait that was asked for
	clock       atomic.Int64  // Unix seconds, as its last answer said; 0 if it does not say
}

// NewRelay returns a relay at address, to which token is the key. The address must be
// one on the way to which nobody hears the token: https, or http to this very
// machine, or http to an onion service through the SOCKS proxy at socks
// (host:port), which other addresses go through as well; "" is no proxy.
func NewRelay(address, token, socks string) (*Relay, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("a relay's address is a URL such as https://relay.example")
	}
	byTor := onion.Is(u.Hostname())
	switch {
	case byTor && socks == "":
		return nil, errors.New("an onion address is reached through a SOCKS proxy: name Tor's, such as 127.0.0.1:9050")
	case u.Scheme == "https", u.Scheme == "http" && (byTor || isLoopback(u.Hostname())):
	default:
		return nil, errors.New("a relay's address is https, or http on this machine alone: on any other way the token could be overheard")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	// A computer that was asleep has a connection that is dead, and HTTP/2 would keep
	// to it for a quarter of an hour.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	if socks != "" {
		if _, _, err := net.SplitHostPort(socks); err != nil {
			return nil, errors.New("a SOCKS proxy is a host and a port, such as 127.0.0.1:9050")
		}
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "socks5h", Host: socks})
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token goes nowhere else
	return &Relay{
		base: u.String(), token: token, patience: 30 * time.Second,
		http: &http.Client{Transport: transport, CheckRedirect: stay},
	}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Holdings is what a relay says of itself.
type Holdings struct {
	KeyID    string `json:"keyId"`
	Depth    int64  `json:"depth"`
	Bytes    int64  `json:"bytes"`
	Oldest   *int64 `json:"oldest"`   // Unix milliseconds
	Max      int64  `json:"max"`      // deliveries it takes; 0 if it does not say
	MaxBytes int64  `json:"maxBytes"` // bytes it takes; 0 if it does not say
}

// Status asks the relay how it stands.
func (r *Relay) Status(ctx context.Context) (h Holdings, err error) {
	err = r.call(ctx, call{method: http.MethodGet, path: "/relay/v1/status", read: into(&h)})
	return h, err
}

// next asks for deliveries, and renews the leases of those in holding.
func (r *Relay) next(ctx context.Context, wait time.Duration, most int, holding []string) (batch []sealed, err error) {
	query := url.Values{"wait": {strconv.Itoa(int(wait.Seconds()))}, "max": {strconv.Itoa(most)}}
	if len(holding) > 0 {
		query.Set("holding", strings.Join(holding, ","))
	}
	err = r.call(ctx, call{
		method: http.MethodGet, path: "/relay/v1/next?" + query.Encode(), wait: wait, long: true,
		read: func(body io.Reader) (err error) { batch, err = readBatch(body, most); return err },
	})
	return batch, err
}

// register tells the relay which addresses to take deliveries for.
func (r *Relay) register(ctx context.Context, hooks []Hook) error {
	body := struct {
		Hooks     []string           `json:"hooks"`
		Deadlines map[string]float64 `json:"deadlines,omitempty"`
	}{Hooks: []string{}, Deadlines: map[string]float64{}}
	for _, h := range hooks {
		body.Hooks = append(body.Hooks, h.hash())
		if h.Deadline > 0 {
			body.Deadlines[h.hash()] = h.Deadline.Seconds()
		}
	}
	return r.call(ctx, call{method: http.MethodPut, path: "/relay/v1/hooks", body: body})
}

// acknowledge lets deliveries go, with answers for the senders who wait.
func (r *Relay) acknowledge(ctx context.Context, ids []string, answers map[string]delivery.Response) error {
	body := struct {
		IDs     []string                     `json:"ids"`
		Answers map[string]delivery.Response `json:"answers,omitempty"`
	}{ids, answers}
	return r.call(ctx, call{method: http.MethodPost, path: "/relay/v1/ack", body: body})
}
