package webhook

import (
	"net/http"
	"strings"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
)

// home lets the home computer in alone, by its token. Its calls are charged to it
// once the token is right: whoever guesses pays for it, and cannot spend what it
// needs. The memory that strangers share is none of its.
func (d *Door) home(h door.Handler) door.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		if !d.Setup.Admits(token(r)) {
			return d.turnAway(w, r)
		}
		if err := d.Budgets.Home(r); err != nil {
			return err
		}
		return h(w, r.WithContext(flight.With(r.Context(), nil)))
	}
}

func (d *Door) turnAway(w http.ResponseWriter, r *http.Request) error {
	if err := d.Budgets.Stranger(r); err != nil {
		return err
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return &door.Error{Status: http.StatusUnauthorized, Message: "the token is not this relay's", Close: hasBody(r)}
}

// token is the one that a request bears in its header, the only place for it
// (RFC 6750 §2.1).
func token(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

// uploaded bounds how many bodies are held at one time.
func (d *Door) uploaded(h door.Handler) door.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		select {
		case d.uploads <- struct{}{}:
			defer func() { <-d.uploads }()
			return h(w, r)
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
}
