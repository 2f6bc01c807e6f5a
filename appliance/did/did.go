// Package did knows what a DID looks like and which part of a DID document
// proves control of it. It does no I/O: finding a document is resolve's work.
package did

import (
	"errors"
	"strings"
)

// MaxLength is the most bytes a DID may have.
const MaxLength = 8 << 10

// ErrNotDID is returned for what is not a bare DID. It never quotes what it
// refuses: a DID must not reach a log by way of an error.
var ErrNotDID = errors.New("not a bare DID")

// ID is a bare DID: did:method:something, with no path, query or fragment,
// kept byte for byte as it was named. Two spellings are two DIDs.
type ID string

// Parse returns s as an ID, unchanged, or ErrNotDID if s is not a bare DID of
// at most MaxLength bytes (DID Core §3.1).
func Parse(s string) (ID, error) {
	if len(s) > MaxLength {
		return "", ErrNotDID
	}
	rest, ok := strings.CutPrefix(s, "did:")
	if !ok {
		return "", ErrNotDID
	}
	method, id, ok := strings.Cut(rest, ":")
	if !ok || !isMethod(method) || !isSpecificID(id) {
		return "", ErrNotDID
	}
	return ID(s), nil
}

// OfKeyID returns the DID that a key id belongs to: what stands before the
// first '#', or all of it (relay spec §4). A relative key id, or one whose DID
// has a path or a query, is ErrNotDID.
func OfKeyID(kid string) (ID, error) {
	s, _, _ := strings.Cut(kid, "#")
	return Parse(s)
}

// Method is the name between the first two colons, such as "key".
func (id ID) Method() string {
	method, _, _ := strings.Cut(strings.TrimPrefix(string(id), "did:"), ":")
	return method
}

func isMethod(s string) bool {
	for i := range len(s) {
		if !isLower(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isSpecificID reports whether s is a method-specific id: segments between
// colons, of which only the last must not be empty.
func isSpecificID(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		case s[i] != ':' && !isIDChar(s[i]):
			return false
		}
	}
	return s != "" && s[len(s)-1] != ':'
}

func isIDChar(c byte) bool {
	return isLower(c) || 'A' <= c && c <= 'Z' || isDigit(c) || c == '.' || c == '-' || c == '_'
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
