package webhook

import (
	"errors"
	"net/http"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

// deliver keeps a request to a registered address, and answers with what the home
// computer says to it, or with a plain 200. To any other address there is nothing,
// and nothing is read.
func (d *Door) deliver(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store") // a refusal of today is none of tomorrow
	hook, ok := d.hook(r)
	if !ok {
		if err := d.Budgets.Stranger(r); err != nil {
			return err
		}
		return &door.Error{Status: http.StatusNotFound, Message: "no such call", Close: hasBody(r)}
	}
	giveBack, err := d.admit(r, hook)
	if err != nil {
		return unread(r, err)
	}
	sender, err := d.keep(r, hook)
	if lacksMemory(err) {
		giveBack() // it will come again, and has cost nothing
	}
	if err != nil {
		return unread(r, err)
	}
	flight.Of(r.Context()).DropAll() // the wait needs none
	answer := sender.Answer(r.Context())
	if err := r.Context().Err(); err != nil {
		return err
	}
	if answer == nil {
		return plain(w, r)
	}
	return live(w, answer)
}

// keep reads a request and has it kept. It holds the body twice at most: the body
// itself ends before there is a sealed one.
func (d *Door) keep(r *http.Request, hook storage.Hook) (*hookbox.Sender, error) {
	plaintext, err := d.plaintext(r)
	if err != nil {
		return nil, err
	}
	return d.Box.Deliver(r.Context(), hook, plaintext)
}

// plaintext is what is to be sealed of a request.
func (d *Door) plaintext(r *http.Request) ([]byte, error) {
	body, err := d.body(r)
	if err != nil {
		return nil, err
	}
	return d.requestOf(r, body).AppendJSON(nil), nil
}

// lacksMemory reports whether that is all that kept a delivery out: there was none
// for it, or what it had was needed for one that comes faster.
func lacksMemory(err error) bool {
	return errors.Is(err, flight.ErrBusy) || errors.Is(err, flight.ErrEnded)
}

// unread ends the connection with a refusal that comes before all of the body.
func unread(r *http.Request, err error) error {
	if !hasBody(r) || !lacksMemory(err) {
		return err
	}
	e := unavailable(flight.ErrBusy.Error(), busyRetryAfter)
	e.Close, e.Cause = true, err
	return &e
}
