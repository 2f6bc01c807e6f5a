package delivery

import (
	"encoding/base64"
	"unicode/utf8"
)

// What surrounds the parts of a request in JSON.
const (
	requestForm = `{"method":,"url":,"headers":[],"body":}`
	headerForm  = `[,],`
	textForm    = `{"text":""}`
	base64Form  = `{"base64":""}`
)

// headRoom is what AppendJSON appends besides the body, or a byte more.
func (r Request) headRoom() int {
	size := len(requestForm) + textRoom(r.Method) + textRoom(r.URL)
	for _, h := range r.Headers {
		size += len(headerForm) + textRoom(h[0]) + textRoom(h[1])
	}
	return size
}

// bodyRoom is what it appends of the body, and whether that is written as text.
func bodyRoom(body []byte) (size int, isText bool) {
	if utf8.Valid(body) {
		if size = quoted(body); size <= 2*len(body) {
			return len(textForm) + size, true
		}
	}
	return base64Room(len(body)), false
}

func textRoom(s string) int {
	if !utf8.ValidString(s) {
		return base64Room(len(s))
	}
	return quoted(s) + len(`""`)
}

func base64Room(bytes int) int { return len(base64Form) + base64.StdEncoding.EncodedLen(bytes) }

// quoted is how many bytes text is inside quotes: most control characters take six.
func quoted[Text string | []byte](text Text) (size int) {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || '\b' <= c && c <= '\r' && c != '\v':
			size += 2
		case c < ' ':
			size += 6
		default:
			size++
		}
	}
	return size
}
