package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

var errNoAnswer = errors.New("the answer is not what a relay says")

// Error is a relay's answer that is not a 200.
type Error struct {
	Status     int
	Message    string        // the relay's own sentence; "" if it gave none
	RetryAfter time.Duration // when to try again; 0 if it did not say
}

// Error quotes the relay's sentence, since it is a stranger's text.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the relay answered %d", e.Status)
	}
	return fmt.Sprintf("the relay answered %d: %q", e.Status, e.Message)
}

// outage is a fault of the relay or of the way to it.
type outage struct{ error }

// Unwrap returns the fault itself.
func (o outage) Unwrap() error { return o.error }

// Temporary says whether err, from a call of a Client, may pass by itself: the
// relay was out of reach, its answer broke off, or it asked to be tried later.
func Temporary(err error) bool {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusRequestTimeout || refused.Status >= 500
	}
	_, ok := errors.AsType[outage](err)
	return ok
}

// refusal reads what a relay says with a status that is not 200: {"error": "…"},
// or, of /health, {"ready": false, "reason": "…"}.
func refusal(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode}
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var said struct{ Error, Reason string }
	// Whatever stands between may answer anything; then the status must do.
	if b, err := io.ReadAll(io.LimitReader(res.Body, maxError)); err == nil && json.Unmarshal(b, &said) == nil {
		e.Message = said.Error + said.Reason
	}
	return e
}
