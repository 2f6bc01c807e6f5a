package appliance

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/ratelimit"
)

// table is one door's calls, and how it answers the errors of all of them.
type table struct {
	routes []door.Route
	rules  []door.Rule
}

// routes answers the calls of the tables at / and under base, which may be "".
// A trailing slash makes no difference. What is no call is a 404, a call by
// another method a 405, both as the doors refuse; OPTIONS tells the methods. Each
// call pays its class's budget first, and what is no call pays as a read.
func routes(base string, journal *door.Journal, budgets *limit, tables ...table) http.Handler {
	router := httprouter.New()
	router.RedirectTrailingSlash = false // a redirected POST loses its body with some clients
	router.RedirectFixedPath = false
	for _, t := range tables {
		for _, route := range t.routes {
			route.Handler = budgets.charged(route.Class, route.Handler)
			for _, prefix := range slices.Compact([]string{"", base}) {
				router.Handle(route.Method, prefix+route.Path, withPathValues(door.Handle(route, t.rules, journal)))
			}
		}
	}
	other := func(h door.Handler) http.Handler {
		return door.Handle(door.Route{Path: "other", Handler: budgets.charged(ratelimit.Read, h)}, nil, journal)
	}
	router.NotFound = other(refuse(http.StatusNotFound, "no such call"))
	router.MethodNotAllowed = other(refuse(http.StatusMethodNotAllowed, "this call has another method"))
	router.GlobalOPTIONS = other(options)
	return withoutTrailingSlash(router)
}

// withPathValues tells a call the segments of its path that stand for any one.
func withPathValues(h http.Handler) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, segments httprouter.Params) {
		for _, s := range segments {
			r.SetPathValue(s.Key, s.Value)
		}
		h.ServeHTTP(w, r)
	}
}

// refuse answers every request with status, before its body if it has one.
func refuse(status int, message string) door.Handler {
	return func(_ http.ResponseWriter, r *http.Request) error {
		return &door.Error{Status: status, Message: message, Close: hasBody(r)}
	}
}

// options answers an OPTIONS request that is no preflight; the router has set Allow.
func options(w http.ResponseWriter, r *http.Request) error {
	if hasBody(r) {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// withoutTrailingSlash asks next for the path without the slashes it ends with.
func withoutTrailingSlash(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := strings.TrimRight(r.URL.Path, "/"); path != r.URL.Path && path != "" {
			asked, place := *r, *r.URL
			place.Path, place.RawPath = path, ""
			asked.URL = &place
			r = &asked
		}
		next.ServeHTTP(w, r)
	})
}
