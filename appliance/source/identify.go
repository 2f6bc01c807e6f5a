package source

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
)

// Rules say how callers are told apart. They must not be copied once used.
type Rules struct {
	Proxies  []netip.Prefix // trusted proxies: their headers are believed, and they are no clients
	Header   Header         // which header they set
	IPv6Bits int            // of an IPv6 address that stand for one client
	Log      *slog.Logger

	untrusted sync.Once // the warning of headers that nobody may send
	misnamed  sync.Once // the warning of proxies that set another header
}

// Identify puts the source of each request into its context, for Of.
func Identify(next http.Handler, rules *Rules) http.Handler {
	prefixes := anonymous()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		way := entrance(r.Context())
		s := Source{Addr: rules.client(r, way), Entrance: way.Name, Scheme: rules.scheme(r, way)}
		if s.Addr.IsValid() && !within(prefixes, s.Addr) && !within(rules.Proxies, s.Addr) {
			s.Key, s.Ceiling = rules.keys(s.Addr)
		}
		if !s.Known() {
			rules.warn(r, way, s)
		}
		next.ServeHTTP(w, With(r, s))
	})
}

// client is the address a request comes from: the peer's, or, when the peer is
// a trusted proxy, the one it tells. When it tells none that can be believed,
// the peer's own stands, and the source identifies nobody.
func (rules *Rules) client(r *http.Request, way Entrance) netip.Addr {
	from := peer(r.RemoteAddr)
	if !rules.trusts(from, way) {
		return from
	}
	teller := rules.Header.teller(r.Header)
	if len(teller.lines) == 0 && forwards(r.Header) {
		rules.misnamed.Do(func() {
			rules.Log.Warn("a trusted proxy does not send the header that it is to tell the client by, but another, so that all who come through it share one budget: name the one it sets with HOLDMAIL_FORWARDING_HEADER",
				"want", string(rules.Header), "peer", r.RemoteAddr)
		})
	}
	if told := teller.client(rules.Proxies); told.IsValid() {
		return told
	}
	return from
}

// trusts reports whether the headers of that peer are believed.
func (rules *Rules) trusts(peer netip.Addr, way Entrance) bool {
	return way.Trust == TrustAll || way.Trust == TrustPeers && within(rules.Proxies, peer)
}

// keys are the prefixes that budgets are kept for.
func (rules *Rules) keys(a netip.Addr) (key, ceiling netip.Prefix) {
	if a.Is4() {
		return netip.PrefixFrom(a, 32), netip.Prefix{}
	}
	key, _ = a.Prefix(rules.IPv6Bits)
	ceiling, _ = a.Prefix(ceilingBits)
	return key, ceiling
}

// warn tells the operator, once, of a proxy that is not trusted: all who come
// through it share one budget.
func (rules *Rules) warn(r *http.Request, way Entrance, s Source) {
	if way.Trust != TrustPeers || len(rules.Proxies) > 0 || !forwards(r.Header) {
		return
	}
	rules.untrusted.Do(func() {
		rules.Log.Warn("a private peer sends forwarding headers and no proxy is trusted, so that all who come through it share one budget: if it is a proxy, name it with HOLDMAIL_TRUSTED_PROXIES (on a Unix socket, HOLDMAIL_LISTEN_UNIX_SOURCE)",
			"peer", s.String())
	})
}
