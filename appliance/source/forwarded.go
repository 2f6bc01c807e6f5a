package source

import (
	"net/http"
	"net/netip"
	"strings"
)

// Header names the header by which proxies tell the client's address. It is one: what
// stands in the other is the client's own.
type Header string

const (
	// ForwardedFor is X-Forwarded-For.
	ForwardedFor Header = "x-forwarded-for"
	// Forwarded is the one of RFC 7239.
	Forwarded Header = "forwarded"
)

// maxHops bounds the proxies in a row.
const maxHops = 16

// teller is the header, as it is in a request.
func (h Header) teller(header http.Header) teller {
	if h == Forwarded {
		return teller{header["Forwarded"], forwardedNode}
	}
	return teller{header["X-Forwarded-For"], address}
}

// forwards reports whether a header tells of a client elsewhere.
func forwards(header http.Header) bool {
	return len(header["X-Forwarded-For"]) > 0 || len(header["Forwarded"]) > 0
}

// teller is a header that lists addresses: each proxy adds the one it was called
// from at the end. Several lines are one list (RFC 9110 §5.3), since some proxies
// add a line of their own.
type teller struct {
	lines []string
	read  func(entry string) (netip.Addr, bool)
}

// client walks the list from the right, past the trusted proxies, to the first
// address that is none. What is left of it was written by that client, or by
// those whom only it trusts, and is never looked at: a client can neither choose
// its source nor, with nonsense or with length, get rid of it. Invalid when the
// entry that counts is no address, or all are proxies.
func (t teller) client(proxies []netip.Prefix) netip.Addr {
	hops := 0
	for i := len(t.lines) - 1; i >= 0; i-- {
		for rest, more := t.lines[i], true; more; {
			var entry string
			rest, entry, more = last(rest, ',')
			if strings.Trim(entry, " \t") == "" {
				continue // an empty entry is none (RFC 9110 §5.6.1)
			}
			a, ok := t.read(strings.Trim(entry, " \t"))
			if hops++; !ok || hops > maxHops {
				return netip.Addr{}
			}
			if a = plain(a); !within(proxies, a) {
				return a
			}
		}
	}
	return netip.Addr{}
}

// last takes the last entry off a list. A comma or semicolon in a quoted string
// is part of it. Seen from the right, the quotes of the last entry are those its
// own proxy wrote, whatever is left of them.
func last(list string, separator byte) (rest, entry string, more bool) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == '"' && !escaped(list[:i]):
			quoted = !quoted
		case list[i] == separator && !quoted:
			return list[:i], list[i+1:], true
		}
	}
	return "", list, false
}

// escaped reports whether what follows before is escaped in a quoted string.
func escaped(before string) bool {
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// forwardedNode reads the address out of for=... in an element of Forwarded. It
// must be there once, and be no name that hides one ("unknown", "_hidden").
func forwardedNode(element string) (a netip.Addr, ok bool) {
	for rest, more := element, true; more; {
		var pair string
		rest, pair, more = last(rest, ';')
		name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !strings.EqualFold(name, "for") {
			continue
		}
		if a.IsValid() {
			return netip.Addr{}, false
		}
		if a, ok = address(unquoted(value)); !ok {
			return netip.Addr{}, false
		}
	}
	return a, a.IsValid()
}

// unquoted takes the quotes off a string. An address needs no escapes.
func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// maxAddress bounds the text of an address with its port, in bytes; a zone has
// no meaning away from the proxy.
const maxAddress = len("[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535")

// address reads an address with or without a port: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, [2001:db8::1], [2001:db8::1]:80.
func address(text string) (netip.Addr, bool) {
	if len(text) > maxAddress || strings.Contains(text, "%") {
		return netip.Addr{}, false
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return a, true
	}
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), true
	}
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	a, err := netip.ParseAddr(inner)
	return a, opened && closed && err == nil && a.Is6()
}
