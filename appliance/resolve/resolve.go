// Package resolve finds the document of a DID: by itself where the DID holds its
// own keys, at a web host that the DID names, or else by asking the Gatekeeper.
//
// It keeps answers for a short time, so a rotated key counts within a minute. It
// knows nothing of challenges and signatures.
package resolve

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdmail/holdmail/appliance/did"
)

var (
	// ErrNotFound: there is no such DID, as far as the one who must know says.
	ErrNotFound = errors.New("DID not found")
	// ErrUnreachable: the one who must know could not be asked. It is wrapped with
	// who that is, and never with the DID or a part of it: it will be logged.
	ErrUnreachable = errors.New("resolver unreachable")
)

// Resolver finds the document of a DID.
type Resolver interface {
	// Resolve returns the document of id. It returns ErrNotFound if there is no
	// such DID, did.ErrNoKey if its document is of no use to us, and
	// ErrUnreachable if that could not be found out; asking again may help then.
	Resolve(ctx context.Context, id did.ID) (did.Document, error)
}

// Way is a resolver, and the DIDs it is for.
type Way struct {
	Method string // such as "key"; "" is for all
	Resolver
}

// Ways asks the first resolver that is for a DID's method, and it alone: what one
// does not know, another has no say in.
type Ways []Way

// Resolve implements Resolver.
func (w Ways) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	for _, way := range w {
		if way.Method == "" || way.Method == id.Method() {
			return way.Resolver.Resolve(ctx, id)
		}
	}
	return did.Document{}, fmt.Errorf("%w: no resolver is for its method", ErrNotFound)
}
