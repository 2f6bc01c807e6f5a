package webhook

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/source"
)

// requestOf is the request as its sender made it, as far as the home computer is to
// know. Some senders sign the whole URL: it stays as they wrote it.
func (d *Door) requestOf(r *http.Request, body []byte) delivery.Request {
	base := d.PublicURL
	if base == "" {
		base = source.Of(r).Scheme + "://" + r.Host
	}
	return delivery.Request{Method: r.Method, URL: base + target(r), Headers: headersOf(r.Header), Body: body}
}

// headersOf are the headers that are kept: names in canonical form and sorted, the
// values of each in the order they came.
func headersOf(h http.Header) (kept [][2]string) {
	named := map[string]bool{}
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			named[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if named[name] || leftOut(name) {
			continue
		}
		for _, value := range h[name] {
			kept = append(kept, [2]string{name, value})
		}
	}
	return kept
}

// leftOut are the headers that end here, whatever Connection names: those of one hop
// (RFC 9110 §7.6.1), what was said to this relay alone, cookies, which are the
// sender's, and those in which proxies name the sender's address.
func leftOut(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Expect",
		"Cookie", "Cookie2",
		"Forwarded", "X-Forwarded", "Forwarded-For", "X-Forwarded-For", "X-Original-Forwarded-For",
		"X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Remote-Ip", "X-Remote-Addr", "X-Originating-Ip",
		"Client-Ip", "True-Client-Ip", "Proxy-Client-Ip", "Wl-Proxy-Client-Ip",
		"Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "Fastly-Client-Ip", "Fly-Client-Ip",
		"Do-Connecting-Ip", "X-Appengine-User-Ip", "X-Azure-Clientip", "X-Azure-Socketip",
		"X-Envoy-External-Address", "X-Nf-Client-Connection-Ip", "X-Vercel-Forwarded-For",
		"Cloudfront-Viewer-Address":
		return true
	}
	return false
}
