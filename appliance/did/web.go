package did

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// ErrNotWeb is returned for what is not a did:web whose document could be asked for.
var ErrNotWeb = errors.New("not a did:web")

const (
	maxHost  = 253 // characters of a host's name (RFC 1035 §2.3.4)
	maxLabel = 63
)

// WebURL is where the document of a did:web is (did:web specification, "Read"): an
// https URL, whose host is a name and never an address. Its path is written as in
// the DID. ErrNotWeb is the answer for a host that cannot be one, and for a path
// that another server would read as another path.
func WebURL(id ID) (*url.URL, error) {
	rest, ok := strings.CutPrefix(string(id), "did:web:")
	if !ok {
		return nil, ErrNotWeb
	}
	authority, path, hasPath := strings.Cut(rest, ":")
	host, port, hasPort := strings.Cut(strings.Replace(authority, "%3a", "%3A", 1), "%3A")
	if !isHost(host) || hasPort && !isPort(port) {
		return nil, fmt.Errorf("%w: its host is not a name, or its port not a port", ErrNotWeb)
	}
	u := &url.URL{Scheme: "https", Host: strings.ToLower(host), Path: "/.well-known/did.json"}
	if hasPort {
		u.Host += ":" + port
	}
	if !hasPath {
		return u, nil
	}
	raw := "/" + strings.ReplaceAll(path, ":", "/") + "/did.json"
	for segment := range strings.SplitSeq(path, ":") {
		if !isSegment(segment) {
			return nil, fmt.Errorf("%w: its path can be read in two ways", ErrNotWeb)
		}
	}
	var err error
	if u.Path, err = url.PathUnescape(raw); err != nil {
		return nil, fmt.Errorf("%w: its path is not escaped well", ErrNotWeb)
	}
	u.RawPath = raw
	return u, nil
}

// isHost reports whether s is a name that the DNS may be asked for. An address is
// none, in no spelling, and neither is what must not be asked for (RFC 7686).
func isHost(s string) bool {
	if len(s) > maxHost {
		return false
	}
	labels := strings.Split(strings.ToLower(s), ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return isLower(last[0]) && last != "onion"
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && s[0] != '0' && n > 0
}

// isSegment refuses what a server may take for a step up, for two segments, or
// for an end.
func isSegment(s string) bool {
	plain, err := url.PathUnescape(s)
	return err == nil && plain != "" && plain != "." && plain != ".." && !strings.ContainsAny(plain, "/\\\x00")
}
