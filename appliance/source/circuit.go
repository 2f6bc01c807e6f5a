package source

import (
	"net"
	"net/netip"
)

// circuits holds the addresses by which Tor tells circuits apart, in the PROXY
// headers of HiddenServiceExportCircuitID: the id is the low 32 bits. They are
// nobody's own, so each circuit is a source by itself, and none has a ceiling: it
// would be that of all.
func circuits() netip.Prefix { return netip.MustParsePrefix("fc00:dead:beef:4dad::/96") }

// circuit is the source that an address of a circuit stands for; ok is false for
// any other address.
func circuit(a netip.Addr) (key netip.Prefix, ok bool) {
	if !circuits().Contains(a) {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

// Circuit is the name of the circuit that a connection comes by, as Source.Name
// has it; ok is false when its address is none of a circuit.
func Circuit(remote net.Addr) (name string, ok bool) {
	key, ok := circuit(peer(remote.String()))
	if !ok {
		return "", false
	}
	return key.String(), true
}
