package didcomm

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/door"
)

// deposit files an envelope for all its recipients. Anyone may (relay spec §2.2).
func (d *Door) deposit(w http.ResponseWriter, r *http.Request) error {
	body, err := door.Body(r, d.UploadLimit)
	if err != nil {
		return err
	}
	packed, err := unwrap(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	ids, err := d.Mailbox.Deposit(r.Context(), packed)
	if err != nil {
		return err
	}
	return door.JSON(w, http.StatusOK, filed{IDs: ids})
}

// filed is the answer to a deposit or a delivery.
type filed struct {
	IDs       []string `json:"ids"`
	Challenge string   `json:"challenge,omitempty"`
}

// unwrap finds the packed envelope in a deposit's body. Of the three forms, the
// first is known by its type; the two others are known by their bytes, because
// senders name them in many ways. What is none of them comes back as it is, for
// the mailbox to say what is wrong with it. The body is overwritten.
func unwrap(contentType string, body []byte) ([]byte, error) {
	if isPacked(contentType) {
		return body, nil
	}
	var message jsontext.Value
	err := door.Object(body, func(name string, value jsontext.Value) {
		if name == "message" {
			message = value
		}
	})
	if err != nil {
		return body, nil
	}
	if message.Kind() == jsontext.KindString && len(message) > len(`""`) {
		return unquoted(message)
	}
	return compact(body), nil
}

// unquoted is what a message says, written over it: that is never longer than how it
// is written.
func unquoted(message jsontext.Value) ([]byte, error) {
	packed, err := jsontext.AppendUnquote(message[:0], message)
	if err != nil {
		return nil, badRequest("message is not Unicode text")
	}
	return packed, nil
}

// compact takes the space between its tokens out of valid JSON, where it lies. The
// order of names and the spelling of numbers and strings stay.
func compact(text []byte) []byte {
	packed, quoted := text[:0], false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			packed = append(packed, c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		packed = append(packed, c)
	}
	return packed
}

// isPacked reports whether a media type says that the body is a packed envelope
// itself.
func isPacked(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/didcomm-encrypted+json" || strings.HasPrefix(media, "text/")
}
