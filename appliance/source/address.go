package source

import "net/netip"

// ceilingBits is the IPv6 prefix that one customer of a provider gets at most.
const ceilingBits = 48

// anonymous are the addresses that many clients share, or that have no meaning
// away from here: they identify nobody (relay spec §5.2.1).
func anonymous() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),      // unspecified
		netip.MustParsePrefix("10.0.0.0/8"),     // private, RFC 1918
		netip.MustParsePrefix("100.64.0.0/10"),  // carrier-grade NAT
		netip.MustParsePrefix("127.0.0.0/8"),    // loopback
		netip.MustParsePrefix("169.254.0.0/16"), // link-local
		netip.MustParsePrefix("172.16.0.0/12"),  // private
		netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments: DS-Lite
		netip.MustParsePrefix("192.168.0.0/16"), // private
		netip.MustParsePrefix("224.0.0.0/4"),    // multicast
		netip.MustParsePrefix("255.255.255.255/32"),
		netip.MustParsePrefix("::/96"),          // unspecified, loopback, IPv4-compatible
		netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of a local network, its form unknown
		netip.MustParsePrefix("2001::/32"),      // Teredo: all clients of a server share a /64
		netip.MustParsePrefix("fc00::/7"),       // unique-local
		netip.MustParsePrefix("fe80::/10"),      // link-local
		netip.MustParsePrefix("fec0::/10"),      // site-local
		netip.MustParsePrefix("ff00::/8"),       // multicast
	}
}

// nat64 holds all of IPv4 in its last four bytes (RFC 6052).
func nat64() netip.Prefix { return netip.MustParsePrefix("64:ff9b::/96") }

// translated holds it too, the same way, for stateless translation (RFC 2765).
func translated() netip.Prefix { return netip.MustParsePrefix("::ffff:0:0:0/96") }

// plain is an address without what does not tell who it is: the zone, and the
// IPv6 clothes of an IPv4 address.
func plain(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if nat64().Contains(a) || translated().Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// within reports whether one of the prefixes holds a, which is plain.
func within(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
