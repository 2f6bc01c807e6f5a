// Package source says who a request comes from, as far as an address can tell:
// the address itself, and the prefix that budgets are kept for.
//
// It knows no budget, and it believes no header of a peer that nobody trusts.
package source

import (
	"context"
	"net/http"
	"net/netip"
)

// Source is who a request comes from. It is comparable.
type Source struct {
	// Addr is the caller's address, IPv4 where it is IPv4-mapped; invalid for
	// a caller on a Unix socket of whom nothing else is known.
	Addr netip.Addr
	// Key stands for the caller: an IPv4 address, or a prefix of an IPv6 one.
	// It is zero when the address identifies nobody (relay spec §5.2.1).
	Key netip.Prefix
	// Ceiling is the wider prefix that Key shares with its neighbours; zero
	// without one.
	Ceiling netip.Prefix
	// Entrance is the name of the listener that the caller came by.
	Entrance string
	// Scheme is what the caller's URL began with, http or https: as a trusted proxy
	// tells it, and else by the connection.
	Scheme string
}

// Known reports whether the source identifies a client.
func (s Source) Known() bool { return s.Key.IsValid() }

// Name is Key as text, or, of a source that identifies nobody, the listener's
// name: what such callers have in common.
func (s Source) Name() string {
	if s.Known() {
		return s.Key.String()
	}
	return s.Entrance
}

// Customer is the widest prefix that may be one customer's, as text: Ceiling, or
// Name where there is none. What is scarce is shared among customers: Key would
// give one as many shares as it has networks.
func (s Source) Customer() string {
	if s.Ceiling.IsValid() {
		return s.Ceiling.String()
	}
	return s.Name()
}

// String is the address for a log.
func (s Source) String() string {
	if s.Addr.IsValid() {
		return s.Addr.String()
	}
	return s.Entrance
}

type sourceKey struct{}

// Of returns the source of a request that came through Identify. Of any other
// it is the peer's address, and identifies nobody.
func Of(r *http.Request) Source {
	if s, ok := r.Context().Value(sourceKey{}).(Source); ok {
		return s
	}
	return Source{Addr: peer(r.RemoteAddr)}
}

// With returns r as one that comes from s.
func With(r *http.Request, s Source) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sourceKey{}, s))
}

// peer reads an address and port as net/http tells it; invalid for a Unix socket.
func peer(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return plain(at.Addr())
}

// Within reports whether one of the prefixes holds a peer, an address and port
// as net tells it.
func Within(prefixes []netip.Prefix, remote string) bool { return within(prefixes, peer(remote)) }
