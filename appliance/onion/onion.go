// Package onion tells the names of onion services from other host names.
//
// It knows their spelling alone (Tor's rend-spec-v3): nothing of Tor, nor
// whether anybody answers under a name.
package onion

import (
	"crypto/sha3"
	"encoding/base32"
	"strings"
)

// A name of version 3 is a public key, a checksum and the version, in base32.
const (
	suffix    = ".onion"
	keyBytes  = 32
	sumBytes  = 2
	version   = 3
	nameBytes = keyBytes + sumBytes + 1
	nameChars = nameBytes * 8 / 5 // no padding
)

// Valid reports whether host is the whole name of an onion service of version
// 3, in any case: no port, no label before it, no dot at the end. A mistyped one
// is not: its checksum is wrong.
func Valid(host string) bool {
	name, found := strings.CutSuffix(strings.ToLower(host), suffix)
	if !found || len(name) != nameChars {
		return false
	}
	raw, err := base32.StdEncoding.DecodeString(strings.ToUpper(name))
	if err != nil || raw[nameBytes-1] != version {
		return false
	}
	key, sum := raw[:keyBytes], raw[keyBytes:keyBytes+sumBytes]
	return string(sum) == string(checksum(key))
}

// Is reports whether Tor alone can find host, valid or not, in any case, and with or
// without a dot at its end. To ask anybody else would tell strangers of it (RFC 7686).
func Is(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == suffix[1:] || strings.HasSuffix(host, suffix)
}

// Leads reports whether host is such a name, or one below it, which Tor brings to
// the same service.
func Leads(host string) bool {
	below, found := strings.CutSuffix(strings.ToLower(host), suffix)
	return found && Valid(below[strings.LastIndex(below, ".")+1:]+suffix)
}

// checksum is what follows the key of a service in its name.
func checksum(key []byte) []byte {
	sum := sha3.Sum256(append(append([]byte(".onion checksum"), key...), version))
	return sum[:sumBytes]
}
