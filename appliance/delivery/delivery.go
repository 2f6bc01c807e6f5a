// Package delivery writes down a webhook request as it is sealed: as the sender
// made it, exact to the byte, because senders sign bytes.
//
// It parses and inflates nothing of the request, and knows nothing of seals, nor
// of how a request came or where it goes.
package delivery

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Request is one request to a webhook.
type Request struct {
	Method  string
	URL     string      // as the sender saw it, with the raw query
	Headers [][2]string // names with their values, in the order they are to be written down
	Body    []byte
}

// AppendJSON appends the request in JSON, which Parse reads back to the byte:
//
//	{"method":"POST","url":"https://...","headers":[["Content-Type","text/plain"]],"body":{"text":"hi"}}
//
// A body that is not valid UTF-8, or that quoting would more than double, is
// {"base64":"..."} instead. So is any other value that is not valid UTF-8, such
// as a header in Latin-1.
func (r Request) AppendJSON(dst []byte) []byte {
	size, isText := bodyRoom(r.Body)
	dst = slices.Grow(dst, r.headRoom()+size) // at one go: what it outgrew would be held beside it
	dst = appendText(append(dst, `{"method":`...), r.Method)
	dst = appendText(append(dst, `,"url":`...), r.URL)
	dst = appendHeaders(append(dst, `,"headers":`...), r.Headers)
	dst = appendBody(append(dst, `,"body":`...), r.Body, isText)
	return append(dst, '}')
}

func appendHeaders(dst []byte, headers [][2]string) []byte {
	dst = append(dst, '[')
	for i, h := range headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(append(dst, '['), h[0])
		dst = appendText(append(dst, ','), h[1])
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// appendText appends a string, or its bytes in base64 if JSON has no string for it.
func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		return appendBase64(dst, []byte(s))
	}
	dst, _ = jsontext.AppendQuote(dst, s) // fails for invalid UTF-8 only
	return dst
}

func appendBody(dst, body []byte, isText bool) []byte {
	if !isText {
		return appendBase64(dst, body)
	}
	dst, _ = jsontext.AppendQuote(append(dst, `{"text":`...), body) // fails for invalid UTF-8 only
	return append(dst, '}')
}

func appendBase64(dst, b []byte) []byte {
	dst = base64.StdEncoding.AppendEncode(append(dst, `{"base64":"`...), b)
	return append(dst, `"}`...)
}

// Values are the values of a header in their order. The name is as it was written
// down: in its canonical form.
func (r Request) Values(name string) (values []string) {
	for _, h := range r.Headers {
		if h[0] == name {
			values = append(values, h[1])
		}
	}
	return values
}

// Query is what follows the first question mark of the URL, as it is.
func (r Request) Query() string {
	_, query, _ := strings.Cut(r.URL, "?")
	return query
}

// Equal tells whether both are the same request, to the byte.
func (r Request) Equal(other Request) bool {
	return r.Method == other.Method && r.URL == other.URL &&
		slices.Equal(r.Headers, other.Headers) && bytes.Equal(r.Body, other.Body)
}

// String names the request for a log, without what is in it.
func (r Request) String() string {
	return fmt.Sprintf("%s of %d bytes", r.Method, len(r.Body))
}
