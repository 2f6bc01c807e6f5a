package webhook

import (
	"crypto/sha256"
	"net/http"
	"regexp"
	"strings"

	"github.com/holdmail/holdmail/storage"
)

// hookID is the form of an address's id: characters that stand for themselves in a
// URL (RFC 3986 §2.3), so that there is one way to write it.
var hookID = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)

// hook is the registered address that a request came to. It must be written as it
// is: an escaped letter makes another.
func (d *Door) hook(r *http.Request) (hook storage.Hook, ok bool) {
	id := r.PathValue("id")
	if !hookID.MatchString(id) || id != lastSegment(target(r)) {
		return storage.Hook{}, false
	}
	hook = sha256.Sum256([]byte(id))
	return hook, d.Box.Registered(hook)
}

// target is the path and query of a request, as they were sent.
func target(r *http.Request) string {
	sent := r.RequestURI
	if strings.HasPrefix(sent, "/") {
		return sent
	}
	_, rest, _ := strings.Cut(sent, "://") // the absolute form (RFC 9112 §3.2.2)
	if start := strings.IndexByte(rest, '/'); start >= 0 {
		return rest[start:]
	}
	return "/"
}

// lastSegment is the last of a path, without the slashes behind it.
func lastSegment(target string) string {
	path, _, _ := strings.Cut(target, "?")
	path = strings.TrimRight(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}
