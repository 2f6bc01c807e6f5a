// Package resolve finds the document of a DID: by itself where the DID holds
// its own key, else by asking the Gatekeeper.
//
// It keeps nothing: every question is asked anew, so a rotated key counts at
// once. It knows nothing of challenges and signatures.
package resolve

import (
	"context"
	"errors"

	"github.com/holdmail/holdmail/appliance/did"
)

var (
	// ErrNotFound: there is no such DID, as far as the one who must know says.
	ErrNotFound = errors.New("DID not found")
	// ErrUnreachable: the one who must know could not be asked.
	ErrUnreachable = errors.New("resolver unreachable")
)

// Resolver finds the document of a DID.
type Resolver interface {
	// Resolve returns the document of id. It returns ErrNotFound if there is no
	// such DID, did.ErrNoKey if its document is of no use to us, and
	// ErrUnreachable if that could not be found out; asking again may help then.
	Resolve(ctx context.Context, id did.ID) (did.Document, error)
}

// ByMethod asks the resolver of the DID's method, or else Otherwise.
type ByMethod struct {
	Methods   map[string]Resolver // by method name, such as "key"
	Otherwise Resolver
}

// Resolve implements Resolver.
func (m ByMethod) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	if r, ok := m.Methods[id.Method()]; ok {
		return r.Resolve(ctx, id)
	}
	return m.Otherwise.Resolve(ctx, id)
}

// Key resolves did:key, which needs no network.
type Key struct{}

// Resolve implements Resolver.
func (Key) Resolve(_ context.Context, id did.ID) (did.Document, error) {
	return did.KeyDocument(id)
}
