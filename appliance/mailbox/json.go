package mailbox

import (
	"bytes"
	"encoding/base64"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// name is a member name that routes an envelope, or any other.
type name uint8

const (
	other name = iota
	recipients
	header
	kid
	protected
	ciphertext
)

// nameOf compares after unescaping, and exactly.
func nameOf(raw jsontext.Value) name {
	switch string(unquoted(raw)) {
	case "recipients":
		return recipients
	case "header":
		return header
	case "kid":
		return kid
	case "protected":
		return protected
	case "ciphertext":
		return ciphertext
	}
	return other
}

var errSyntax = notEnvelope("it is not valid JSON")

// decoder reads JSON where it lies, copying nothing. Duplicate names and lone
// surrogates pass it: those that matter here are looked for by eachMember, and
// the decoder's own look-out for them costs many times the input in memory.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// eachMember reads the object that comes next and calls read to take each
// member's value. A name that routes may be there once: with two, this relay
// and the recipient's library could each believe another.
func eachMember(in *jsontext.Decoder, read func(name) error) error {
	if _, err := in.ReadToken(); err != nil {
		return errSyntax
	}
	var seen [ciphertext + 1]bool
	for in.PeekKind() != jsontext.KindEndObject {
		raw, err := in.ReadValue()
		if err != nil {
			return errSyntax
		}
		n := nameOf(raw)
		if n != other && seen[n] {
			return notEnvelope("a name that routes is there twice")
		}
		seen[n] = true
		if err := read(n); err != nil {
			return err
		}
	}
	if _, err := in.ReadToken(); err != nil {
		return errSyntax
	}
	return nil
}

// skip passes over a value that is nobody's business.
func skip(in *jsontext.Decoder) error {
	if in.SkipValue() != nil {
		return errSyntax
	}
	return nil
}

// stringValue reads a string as it is written, in its quotes. The bytes are the
// input's own, until the next read.
func stringValue(in *jsontext.Decoder, otherwise string) (jsontext.Value, error) {
	switch in.PeekKind() {
	case jsontext.KindString:
	case jsontext.KindInvalid:
		return nil, errSyntax
	default:
		return nil, notEnvelope(otherwise)
	}
	raw, err := in.ReadValue()
	if err != nil {
		return nil, errSyntax
	}
	return raw, nil
}

// unquoted is what a JSON string says. It copies only where there are escapes.
func unquoted(raw jsontext.Value) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // its one error is a lone surrogate, which becomes U+FFFD
	return text
}

// isBase64Object reports whether text is base64url, without padding, of a JSON
// object.
func isBase64Object(text []byte) bool {
	if bytes.ContainsAny(text, "\r\n") {
		return false // the decoder would pass over them
	}
	object := make([]byte, base64.RawURLEncoding.DecodedLen(len(text)))
	if _, err := base64.RawURLEncoding.Strict().Decode(object, text); err != nil || !utf8.Valid(object) {
		return false
	}
	in := decoder(object)
	if in.PeekKind() != jsontext.KindBeginObject || in.SkipValue() != nil {
		return false
	}
	_, err := in.ReadToken()
	return err == io.EOF
}

// isCompact reports whether text is a JWE in its compact form: five parts of
// base64url between dots.
func isCompact(text []byte) bool {
	text = bytes.TrimSpace(text)
	notCompact := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	return bytes.Count(text, []byte(".")) == 4 && !bytes.ContainsFunc(text, notCompact)
}
