package pull

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

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/onion"
	"github.com/holdmail/holdmail/appliance/pull/ledger"
)

const (
	patience  = 30 * time.Second // beyond the wait that was asked for
	maxAnswer = 96 << 20         // bytes: one delivery of 25 MiB, quoted and in base64
	maxWords  = 4 << 10          // bytes of an answer that is a refusal
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
	if socks != "" {
		if _, _, err := net.SplitHostPort(socks); err != nil {
			return nil, errors.New("a SOCKS proxy is a host and a port, such as 127.0.0.1:9050")
		}
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "socks5h", Host: socks})
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token goes nowhere else
	return &Relay{base: u.String(), token: token, http: &http.Client{Transport: transport, CheckRedirect: stay}}, nil
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
	return h, r.call(ctx, http.MethodGet, "/relay/v1/status", nil, 0, &h)
}

// sealed is a delivery as the relay hands it out.
type sealed struct {
	ID         string `json:"id"`
	Hook       string `json:"hook"`
	ReceivedAt int64  `json:"receivedAt"` // Unix milliseconds
	Sealed     []byte `json:"sealed"`
	Live       bool   `json:"live"` // its sender waits for the answer
}

func (s sealed) received() time.Time { return time.UnixMilli(s.ReceivedAt).UTC() }

// next asks for deliveries, and renews the leases of those in holding.
func (r *Relay) next(ctx context.Context, wait time.Duration, most int, holding []string) ([]sealed, error) {
	query := url.Values{"wait": {strconv.Itoa(int(wait.Seconds()))}, "max": {strconv.Itoa(most)}}
	if len(holding) > 0 {
		query.Set("holding", strings.Join(holding, ","))
	}
	var answer struct {
		Deliveries []sealed `json:"deliveries"`
	}
	if err := r.call(ctx, http.MethodGet, "/relay/v1/next?"+query.Encode(), nil, wait, &answer); err != nil {
		return nil, err
	}
	if len(answer.Deliveries) > most {
		return nil, errors.New("the relay hands out more than it was asked for")
	}
	for _, d := range answer.Deliveries {
		if d.ID == "" || len(d.ID) > ledger.MaxID {
			return nil, errors.New("the relay hands out a delivery without an id, or with a long one")
		}
	}
	return answer.Deliveries, nil
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
	return r.call(ctx, http.MethodPut, "/relay/v1/hooks", body, 0, nil)
}

// acknowledge lets deliveries go, with answers for the senders who wait.
func (r *Relay) acknowledge(ctx context.Context, ids []string, answers map[string]delivery.Response) error {
	body := struct {
		IDs     []string                     `json:"ids"`
		Answers map[string]delivery.Response `json:"answers,omitempty"`
	}{ids, answers}
	return r.call(ctx, http.MethodPost, "/relay/v1/ack", body, 0, nil)
}

// call makes one call, and decodes a good answer into into unless that is nil.
func (r *Relay) call(ctx context.Context, method, path string, body any, wait time.Duration, into any) error {
	ctx, stop := context.WithTimeout(ctx, wait+patience)
	defer stop()
	req, err := r.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	res, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("the relay is out of reach: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		return refusal(res)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the relay's answer broke off: %w", err)
	case len(b) > maxAnswer:
		return fmt.Errorf("the relay's answer is longer than %d bytes", maxAnswer)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("the answer is not what a relay says: %w", err)
	}
	return nil
}

func (r *Relay) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refusal says in words what an answer means that is not a good one.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return ErrToken
	case http.StatusNotFound:
		return ErrNoDoor
	}
	words, _ := io.ReadAll(io.LimitReader(res.Body, maxWords))
	return fmt.Errorf("the relay answered %d: %q", res.StatusCode, strings.TrimSpace(string(words)))
}
