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
		// The library says nothing to a request without an Origin, which a cache
		// may keep and give to a page, nor to a method that it does not allow.
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
		withRules.ServeHTTP(w, r)
	})
}
