package source_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/holdmail/holdmail/appliance/source"
)

func TestTheSchemeIsWhatATrustedProxyTells(t *testing.T) {
	for _, tt := range []struct {
		name, peer, header, value string
		kind                      source.Header
		tls                       bool
		want                      string
	}{
		{"plain", "203.0.113.9:1", "", "", source.ForwardedFor, false, "http"},
		{"TLS", "203.0.113.9:1", "", "", source.ForwardedFor, true, "https"},
		{"a stranger's word", "203.0.113.9:1", "X-Forwarded-Proto", "https", source.ForwardedFor, false, "http"},
		{"a proxy's", "10.0.0.1:1", "X-Forwarded-Proto", "HTTPS", source.ForwardedFor, false, "https"},
		{"the nearest proxy's", "10.0.0.1:1", "X-Forwarded-Proto", "http, https", source.ForwardedFor, false, "https"},
		{"nonsense", "10.0.0.1:1", "X-Forwarded-Proto", "ftp", source.ForwardedFor, false, "http"},
		{"the other header", "10.0.0.1:1", "Forwarded", "for=192.0.2.1;proto=https", source.ForwardedFor, false, "http"},
		{"Forwarded", "10.0.0.1:1", "Forwarded", `for=192.0.2.9, for=192.0.2.1;Proto="https"`, source.Forwarded, false, "https"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.peer
			if tt.header != "" {
				r.Header.Set(tt.header, tt.value)
			}
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			rules := &source.Rules{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: tt.kind, IPv6Bits: 64, Log: slog.New(slog.DiscardHandler)}
			var got string
			source.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = source.Of(r).Scheme }), rules).ServeHTTP(httptest.NewRecorder(), r)
			if got != tt.want {
				t.Errorf("scheme %q, want %q", got, tt.want)
			}
		})
	}
}
