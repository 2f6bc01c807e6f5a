package appliance

import (
	"net/http"
	"time"

	"github.com/rs/cors"
)

// allowOrigins lets a page of any origin make every call, also from the public
// internet to a relay on a private network. It answers preflights itself, and
// stands before everything else, so that refusals carry its headers too.
func allowOrigins(next http.Handler) http.Handler {
	rules := cors.New(cors.Options{
		AllowedOrigins:      []string{"*"},
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders:      []string{"*"},
		ExposedHeaders:      []string{"Retry-After"},
		AllowPrivateNetwork: true,
		MaxAge:              int((24 * time.Hour).Seconds()),
	})
	withRules := rules.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The library says nothing to a request without an Origin; a cache may
		// keep that answer and give it to a page.
		w.Header().Set("Access-Control-Allow-Origin", "*")
		withRules.ServeHTTP(w, r)
	})
}
