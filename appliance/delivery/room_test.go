package delivery

import (
	"slices"
	"strings"
	"testing"
)

// A relay reckons with one copy of the body in what is sealed: its room is taken at
// one go, or an older and smaller one would stand beside it for a while.
func TestTheRoomOfARequestIsKnownBefore(t *testing.T) {
	headers := make([][2]string, 100)
	for i := range headers {
		headers[i] = [2]string{"X-Quoted", strings.Repeat(`"`, 300)}
	}
	for name, r := range map[string]Request{
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
			body, _ := bodyRoom(r.Body)
			written, room := len(r.AppendJSON(nil)), r.headRoom()+body
			if room < written || room > written+1 {
				t.Errorf("room for %d bytes, %d are written down", room, written)
			}
		})
	}
}
