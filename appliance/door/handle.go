package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// Rule says how a door answers one kind of error.
type Rule struct {
	Is     error // compared with errors.Is
	Answer Error // an empty Message stands for the error's own sentence
}

// Handle makes an http.Handler of a route. What the route's handler returns, or
// panics with, is answered by the first rule that fits and noted in the journal
// once; an error that no rule knows is a 500 that tells the caller nothing.
//
// An answer that fails after its first byte ends the connection: the caller
// sees a broken answer, never a shorter one.
func Handle(route Route, rules []Rule, journal *Journal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, head: r.Method == http.MethodHead}
		err := call(route.Handler, a, r)
		if err == nil {
			return
		}
		if a.broken || clientGone(r, err) {
			journal.abandoned(r, route.Path, err)
			panic(http.ErrAbortHandler)
		}
		e := judge(err, rules)
		journal.refused(r, route.Path, e, a.began)
		if a.began {
			panic(http.ErrAbortHandler)
		}
		refuse(a, e)
	})
}

// call runs the handler and turns a panic into an error. http.ErrAbortHandler
// passes through: it is how a handler asks net/http to end the connection.
func call(h Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h(w, r)
}

// clientGone reports whether err only says that nobody waits for an answer.
func clientGone(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// judge finds the answer to err.
func judge(err error, rules []Rule) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, rule := range rules {
		if errors.Is(err, rule.Is) {
			e := rule.Answer
			e.Cause = err
			if e.Message == "" {
				e.Message = err.Error()
			}
			return &e
		}
	}
	return &Error{Status: http.StatusInternalServerError, Message: "internal error", Cause: err}
}
