// Package door is the HTTP dialect that all doors speak: handlers that return
// errors, errors that carry a status, bodies that are bounded.
//
// It knows no noun: what a request means is the business of the doors below it.
package door

import (
	"fmt"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/ratelimit"
)

// Handler answers a request, or returns an error for the door to answer.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Free is the class of a call that costs nothing.
const Free ratelimit.Class = "free"

// Self is the class of a call that its handler charges, once it knows what it is.
const Self ratelimit.Class = "self"

// Route is one call of a door. Path has no trailing slash and no base path. A
// segment of it that is ":name" stands for any one, which the handler finds with
// Request.PathValue, decoded.
type Route struct {
	Method  string
	Path    string
	Class   ratelimit.Class // whose budget the call is charged to; never empty
	Handler Handler
}

// Error is an answer that is not a 2xx: {"error": Message} under Status.
type Error struct {
	Status     int
	Message    string        // one plain sentence for the caller; no DID, no content
	RetryAfter time.Duration // sent as Retry-After, rounded up to seconds, when above zero
	Close      bool          // ends the connection, leaving the body unread
	Body       any           // sent as JSON in the place of {"error": Message}, when not nil
	Cause      error         // for the log only
}

// Error says what the caller is told, and why.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return fmt.Sprintf("%s: %v", e.Message, e.Cause)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }
