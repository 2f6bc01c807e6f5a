package appliance

import (
	"errors"
	"io"

	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/resolve"
)

// The resolvers that a setting may name. Each of the first four is for the DID
// method of its name; the Gatekeeper is for all.
const (
	byKey        = "key"
	byJWK        = "jwk"
	byPeer       = "peer"
	byWeb        = "web"
	byGatekeeper = "gatekeeper"
)

// resolvers are the ways to a DID's document, in the order they were named.
type resolvers struct {
	resolve.Ways
	open []io.Closer
}

// openResolvers builds what c names. It asks nobody anything yet.
func openResolvers(c Config) (resolvers, error) {
	var r resolvers
	for _, name := range c.Resolvers {
		switch name {
		case byKey:
			r.add(name, resolve.Key{})
		case byJWK:
			r.add(name, resolve.JWK{})
		case byPeer:
			r.add(name, resolve.NewPeer())
		case byWeb:
			r.addRemote(name, resolve.NewWeb(egress.Rules{Ports: c.WebPorts, Private: c.WebPrivate}))
		case byGatekeeper:
			gatekeeper, err := resolve.NewGatekeeper(c.Gatekeeper)
			if err != nil {
				return resolvers{}, errors.Join(err, r.Close())
			}
			r.addRemote("", gatekeeper)
			r.open = append(r.open, gatekeeper)
		}
	}
	return r, nil
}

func (r *resolvers) add(method string, next resolve.Resolver) {
	r.Ways = append(r.Ways, resolve.Way{Method: method, Resolver: next})
}

// addRemote adds a resolver that asks somebody else, whose answers are kept.
func (r *resolvers) addRemote(method string, next resolve.Resolver) {
	cache := resolve.NewCache(next)
	r.open = append(r.open, cache)
	r.add(method, cache)
}

// Close ends the questions that are under way.
func (r resolvers) Close() error {
	var errs []error
	for _, c := range r.open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
