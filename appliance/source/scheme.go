package source

import (
	"net/http"
	"strings"
)

// scheme is what the caller's URL began with.
func (rules *Rules) scheme(r *http.Request, way Entrance) string {
	if rules.trusts(peer(r.RemoteAddr), way) {
		if told := rules.Header.scheme(r.Header); told != "" {
			return told
		}
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// scheme is the one that the nearest proxy tells, "" if it tells none: in the last
// element of Forwarded, or in the last of X-Forwarded-Proto, which goes with
// X-Forwarded-For.
func (h Header) scheme(header http.Header) string {
	told := ""
	if h == Forwarded {
		_, element, _ := last(strings.Join(header["Forwarded"], ","), ',')
		told = forwardedProto(element)
	} else {
		_, told, _ = last(strings.Join(header["X-Forwarded-Proto"], ","), ',')
	}
	told = strings.ToLower(strings.Trim(told, " \t"))
	if told != "http" && told != "https" {
		return ""
	}
	return told
}

// forwardedProto reads proto=... in an element of Forwarded.
func forwardedProto(element string) string {
	for rest, more := element, true; more; {
		var pair string
		rest, pair, more = last(rest, ';')
		name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if strings.EqualFold(name, "proto") {
			return unquoted(value)
		}
	}
	return ""
}
