package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNotRequest is wrapped by Parse's errors.
var ErrNotRequest = errors.New("not a request that can be handed on")

// Parse reads what AppendJSON wrote. Whoever knows a public key can seal what they
// like, so that a request is refused here that no HTTP client could send: its
// method, URL, and headers hold nothing that HTTP does not allow there.
func Parse(plaintext []byte) (Request, error) {
	var w wire
	if err := json.Unmarshal(plaintext, &w); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrNotRequest, err)
	}
	r := Request{Method: string(w.Method), URL: string(w.URL), Headers: w.Headers, Body: w.Body}
	return r, r.check()
}

// wire is a request in JSON.
type wire struct {
	Method  text  `json:"method"`
	URL     text  `json:"url"`
	Headers pairs `json:"headers"`
	Body    body  `json:"body"`
}

// text is a JSON string, or bytes in base64.
type text []byte

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return (*body)(t).UnmarshalJSON(b)
	}
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == nil {
		return errors.New("null where text belongs")
	}
	*t = []byte(*s)
	return nil
}

// body is an object that holds text, or bytes in base64.
type body []byte

func (t *body) UnmarshalJSON(b []byte) error {
	var form struct {
		Text   *string `json:"text"`
		Base64 []byte  `json:"base64"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return err
	}
	switch {
	case form.Text != nil && form.Base64 == nil:
		*t = []byte(*form.Text)
	case form.Text == nil && form.Base64 != nil:
		*t = form.Base64
	default:
		return errors.New("want either text or base64")
	}
	return nil
}

// check refuses a method and a URL that HTTP has no way to say (RFC 9112 §3).
func (r Request) check() error {
	if !isToken(r.Method) {
		return fmt.Errorf("%w: its method is none", ErrNotRequest)
	}
	if r.URL == "" || strings.ContainsFunc(r.URL, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return fmt.Errorf("%w: its URL is none", ErrNotRequest)
	}
	return nil
}
