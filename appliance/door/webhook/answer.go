package webhook

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// emptyTwiML tells Twilio to do nothing; it takes an empty answer for a mistake.
const emptyTwiML = `<?xml version="1.0" encoding="UTF-8"?><Response></Response>`

// plain tells the sender that its request is kept.
func plain(w http.ResponseWriter, r *http.Request) error {
	if len(r.Header["X-Twilio-Signature"]) == 0 {
		w.Header()["Content-Type"] = nil // there is nothing that would have one
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Content-Type", "text/xml")
	_, err := io.WriteString(w, emptyTwiML)
	return err
}

// live gives the sender the home computer's answer: status, content type and body.
// Its other headers speak of its own connection, or would bind the relay's name.
func live(w http.ResponseWriter, answer *delivery.Response) error {
	h := w.Header()
	h["Content-Type"] = nil // what has none is not given one by its looks
	for _, header := range answer.Headers {
		if strings.EqualFold(header[0], "Content-Type") {
			h.Set("Content-Type", header[1])
		}
	}
	if answer.Status == http.StatusNoContent || answer.Status == http.StatusNotModified {
		w.WriteHeader(answer.Status)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	_, err := w.Write(answer.Body)
	return err
}
