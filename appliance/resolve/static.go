package resolve

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdmail/holdmail/appliance/did"
)

// Key resolves did:key, which needs no network.
type Key struct{}

// Resolve implements Resolver.
func (Key) Resolve(_ context.Context, id did.ID) (did.Document, error) { return did.KeyDocument(id) }

// JWK resolves did:jwk, which needs no network.
type JWK struct{}

// Resolve implements Resolver.
func (JWK) Resolve(_ context.Context, id did.ID) (did.Document, error) { return did.JWKDocument(id) }

// maxShort is how many short forms Peer remembers, at a few hundred bytes each.
const maxShort = 10_000

// Peer resolves did:peer of numalgo 0, 2 and 4, which needs no network. It knows a
// short form of numalgo 4 once it has resolved the long form, of which it keeps the
// key alone. Whatever a stranger shows it, it learns nothing false: the short form is
// the hash of the long one. When it has seen too many it forgets the one that was
// not asked for the longest.
type Peer struct{ seen *lru.Cache[did.ID, did.Key] }

// NewPeer returns a Peer that has seen nothing yet.
func NewPeer() *Peer {
	seen, err := lru.New[did.ID, did.Key](maxShort)
	if err != nil {
		panic("resolve: " + err.Error()) // only a size below 1 is an error
	}
	return &Peer{seen}
}

// Resolve implements Resolver.
func (p *Peer) Resolve(_ context.Context, id did.ID) (did.Document, error) {
	if id.IsShort() {
		key, ok := p.seen.Get(id)
		if !ok {
			return did.Document{}, fmt.Errorf("%w: the long form of this did:peer:4 was not seen", ErrNotFound)
		}
		return did.Document{ID: string(id), Signing: key}, nil
	}
	doc, err := did.PeerDocument(id)
	if short := id.Canonical(); err == nil && short != id {
		p.seen.Add(short, doc.Signing)
	}
	return doc, err
}
