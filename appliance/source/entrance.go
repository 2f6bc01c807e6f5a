package source

import "context"

// Trust says whose forwarding headers are believed at an entrance.
type Trust int

const (
	TrustPeers  Trust = iota // those of the trusted proxies, by their address
	TrustAll                 // everyone's: whoever may open the socket is a proxy
	TrustNobody              // no one's: the connection itself tells who is at its other end
)

// Entrance is a listener, as its callers are told apart.
type Entrance struct {
	Name  string // what callers who identify nobody have in common; not empty
	Trust Trust
	Onion bool // Tor brings its callers, of whom it tells the circuit, if anything
}

type entranceKey struct{}

// Context is the context of all requests that come by e.
func (e Entrance) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, entranceKey{}, e)
}

// entrance is the one a request came by.
func entrance(ctx context.Context) Entrance {
	e, _ := ctx.Value(entranceKey{}).(Entrance)
	return e
}
