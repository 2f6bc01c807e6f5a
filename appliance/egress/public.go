package egress

import "net/netip"

// isPublic reports whether a is an address of the public Internet: one host, which
// everybody reaches by it.
func isPublic(a netip.Addr) bool {
	a = inner(a)
	if !a.IsGlobalUnicast() {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return a.Is4() || allocated().Contains(a)
}

// inner takes an address out of its IPv6 clothes: mapped, translated (RFC 2765), or
// behind the well-known prefix of a NAT64 (RFC 6052).
func inner(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if netip.MustParsePrefix("64:ff9b::/96").Contains(a) || netip.MustParsePrefix("::ffff:0:0:0/96").Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// allocated holds all of IPv6 that is given out for global unicast (IANA, 2026-11).
func allocated() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// special are the blocks of IANA's special-purpose registries (RFC 6890, as of
// 2026-11) that IsGlobalUnicast does not know.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network: Linux dials itself
		netip.MustParsePrefix("10.0.0.0/8"),      // private
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
		netip.MustParsePrefix("169.254.0.0/16"),  // link-local
		netip.MustParsePrefix("172.16.0.0/12"),   // private
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays, deprecated
		netip.MustParsePrefix("192.168.0.0/16"),  // private
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
		netip.MustParsePrefix("2001::/23"),       // protocol assignments: Teredo
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4: any IPv4 address is in it
		netip.MustParsePrefix("3fff::/20"),       // documentation
	}
}
