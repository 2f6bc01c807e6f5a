package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// A relay reckons with one copy of the body in what is sealed: while it is written
// down, there is never an older and smaller one beside it.
func TestARequestIsWrittenDownInOnePiece(t *testing.T) {
	headers := make([][2]string, 100)
	for i := range headers {
		headers[i] = [2]string{"X-Quoted", strings.Repeat(`"`, 300)}
	}
	for name, r := range map[string]delivery.Request{
		"plain text":             {Body: []byte(strings.Repeat("a", 1<<20))},
		"quotes":                 {Body: []byte(strings.Repeat(`"`, 1<<20))},
		"JSON in JSON":           {Body: []byte(strings.Repeat(`{\"a\":\"b\"}`, 1<<17))},
		"lines":                  {Body: []byte(strings.Repeat("\r\n", 1<<19))},
		"a control now and then": {Body: []byte(strings.Repeat("\x01aaaaaaaaa", 1<<17))},
		"bytes":                  {Body: []byte(strings.Repeat("\xff", 1<<20))},
		"many headers":           {Headers: headers},
		"short ones in Latin-1":  {Headers: slices.Repeat([][2]string{{"X", "\xe9"}}, 5000)},
		"headers in Latin-1":     {Headers: [][2]string{{"X-Name", strings.Repeat("\xe9", 30_000)}}},
		"a long URL":             {URL: strings.Repeat("\\", 30_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var written []byte
			allocated := testing.AllocsPerRun(1, func() { written = r.AppendJSON(nil) })
			if len(r.Body) > 0 && allocated != 1 {
				t.Errorf("%v allocations, want 1", allocated)
			}
			raw := len(r.URL) + len(r.Body)
			for _, h := range r.Headers {
				raw += len(h[0]) + len(h[1]) + 10
			}
			if most := 2*raw + 8<<10; cap(written) > most {
				t.Errorf("room for %d bytes, want %d at most", cap(written), most)
			}
		})
	}
}
