package source

import "net"

// Peer is the Customer of the client at the other end of a connection, as text; "" when
// its address identifies nobody, or is a trusted proxy's.
func (rules *Rules) Peer(remote net.Addr) string {
	a := peer(remote.String())
	if !a.IsValid() || within(anonymous(), a) || within(rules.Proxies, a) {
		return ""
	}
	key, ceiling := rules.keys(a)
	return Source{Key: key, Ceiling: ceiling}.Customer()
}
