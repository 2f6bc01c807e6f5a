package delivery

import (
	"encoding/base64"
	"unicode/utf8"
)

// Forms of what surrounds the parts of a request in JSON, for their length.
const (
	requestForm = `{"method":,"url":,"headers":[],"body":{"text":}}`
	headerForm  = `[,],`
	base64Form  = `{"base64":""}`
)

// room is what AppendJSON appends, or a few bytes more.
func (r Request) room() int {
	size := len(requestForm) + textRoom(r.Method) + textRoom(r.URL)
	for _, h := range r.Headers {
		size += len(headerForm) + textRoom(h[0]) + textRoom(h[1])
	}
	if isText(r.Body) {
		return size + quoted(r.Body) + len(`""`)
	}
	return size + base64Room(len(r.Body))
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
