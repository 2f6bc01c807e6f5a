package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever a sender puts into it, a delivery is no larger, before it is sealed, than
// the relay reckons with.
func TestADeliveryTakesNoMoreThanItsRoom(t *testing.T) {
	d := New(Options{MaxBody: 1 << 10, PublicURL: "https://relay.example"})
	lines := func(name, value string) http.Header {
		h := http.Header{}
		for size := 0; size < 36<<10; size += len(name) + len(value) + len(":\r\n") {
			h[name] = append(h[name], value)
		}
		return h
	}
	for name, r := range map[string]struct {
		path, body string
		headers    http.Header
	}{
		"a text":              {"/hooks/a", strings.Repeat("a", 1<<10), nil},
		"quotes":              {"/hooks/a", strings.Repeat(`"`, 1<<10), nil},
		"control characters":  {"/hooks/a", strings.Repeat("\x01", 1<<10), nil},
		"empty headers":       {"/hooks/a", "", lines("A", "")},
		"letters in Latin-1":  {"/hooks/a", "\xff", lines("A", "\xe9")},
		"a header of quotes":  {"/hooks/a", "", lines("A", strings.Repeat(`"`, 30_000))},
		"a header in Latin-1": {"/hooks/a", "", lines("A", strings.Repeat("\xe9", 30_000))},
		"a long query":        {"/hooks/a?" + strings.Repeat(`\`, 30_000), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, "/hooks/a", nil)
			request.Header, request.RequestURI = r.headers, r.path
			got := int64(len(d.requestOf(request, []byte(r.body)).AppendJSON(nil)))
			size := int64(len(r.body)) + headerBytes(request)
			if got > 2*size+1<<10 {
				t.Errorf("%d bytes, want twice %d at most", got, size)
			}
			if most := PlaintextFor(d.MaxBody); got > most {
				t.Errorf("%d bytes, want %d at most", got, most)
			}
		})
	}
}
