package egress

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"time"
)

// Patience is how long a courier waits.
type Patience struct {
	Connect time.Duration // for a connection: the name's lookup, the proxy, TLS
	Total   time.Duration // for all of it, the answer included
}

// Options say by which way a Courier goes, and where it may go.
type Options struct {
	Proxy   string      // host and port of the SOCKS5 proxy for onion services; "" has none
	Private bool        // addresses that are not on the public Internet, too
	TLS     *tls.Config // who is trusted; nil trusts whom the system trusts

	Clearnet Patience // 10 and 60 seconds where it is zero
	Onion    Patience // 60 and 120 seconds where it is zero
}

// Courier carries bodies to endpoints that strangers name: to onion services by the
// proxy, which is also the only one that is told their names, to all others
// directly. Every body has a connection of its own, and every host of an onion
// service circuits of its own. It asks no proxy that the environment names, and
// keeps no cookies. It is safe for concurrent use.
type Courier struct {
	options Options
	key     []byte // of the names that the proxy tells destinations apart by
}

// NewCourier returns a courier that has not gone anywhere yet.
func NewCourier(o Options) *Courier {
	if o.Clearnet == (Patience{}) {
		o.Clearnet = Patience{10 * time.Second, 60 * time.Second}
	}
	if o.Onion == (Patience{}) {
		o.Onion = Patience{60 * time.Second, 120 * time.Second}
	}
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails
	return &Courier{o, key}
}

// Send posts body to an endpoint and returns what is answered with a 2xx, at most
// 128 KiB. It follows no redirect. It returns ErrEndpoint for an endpoint that is
// not Deliverable, or whose name the proxy need not be asked for since no onion
// service can have it, ctx's error if that ends before, and else a *Failure.
func (c *Courier) Send(ctx context.Context, to Endpoint, mediaType string, body []byte) (answer []byte, err error) {
	if err := to.Deliverable(); err != nil {
		return nil, err
	}
	patience := c.options.Clearnet
	if to.Onion() {
		patience = c.options.Onion
	}
	within, cancel := context.WithTimeout(ctx, patience.Total)
	defer cancel()
	answer, err = c.carry(within, to, patience.Connect, mediaType, body)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx) // whatever else it looked like
	}
	return answer, err
}

func (c *Courier) carry(ctx context.Context, to Endpoint, within time.Duration, mediaType string, body []byte) ([]byte, error) {
	conn, err := c.connect(ctx, to, within)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return post(ctx, conn, to, mediaType, body)
}

// connect opens a connection, with TLS if that is the endpoint's scheme.
func (c *Courier) connect(ctx context.Context, to Endpoint, within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var conn net.Conn
	var err error
	if to.Onion() {
		conn, err = c.dialOnion(ctx, to)
	} else {
		conn, err = c.dialHost(ctx, to)
	}
	if err != nil || to.Scheme != "https" {
		return conn, err
	}
	secured, err := shakeHands(ctx, conn, to, c.options.TLS)
	if err != nil {
		conn.Close()
	}
	return secured, err
}

// circuit is what the proxy tells destinations apart by: one for each host, which
// says nothing of it, and another in another run.
func (c *Courier) circuit(host string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(host))
	return hex.EncodeToString(mac.Sum(nil))
}
