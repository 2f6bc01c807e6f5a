package appliance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// hashes are those of n addresses, the one that tests send to first.
func hashes(n int) (all []string) {
	all = append(all, fmt.Sprintf("%x", sha256.Sum256([]byte(hookID))))
	for i := range n - 1 {
		all = append(all, fmt.Sprintf("%064x", i))
	}
	return all
}

func inJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever is wrong with a new set of addresses, the old one stays.
func TestARegistrationIsTakenWholeOrNotAtAll(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	one := hashes(1)[0]
	for _, tt := range []struct {
		name, body string
		status     int
	}{
		{"as many as may be", inJSON(t, map[string]any{"hooks": hashes(10_000)}), 204},
		{"another set", inJSON(t, map[string]any{"hooks": hashes(10_001)[1:]}), 204},
		{"one too many", inJSON(t, map[string]any{"hooks": append(hashes(10_001)[1:], "0f"+one[2:])}), 400},
		{"a digit less", `{"hooks":["` + one[1:] + `"]}`, 400},
		{"a digit more", `{"hooks":["0` + one + `"]}`, 400},
		{"no hex", `{"hooks":["g` + one[1:] + `"]}`, 400},
		{"a good one and a bad one", `{"hooks":["` + one + `","x"]}`, 400},
		{"no array", `{"hooks":"` + one + `"}`, 400},
		{"null", `{"hooks":null}`, 400},
		{"nothing", ``, 400},
		{"an array at once", `["` + one + `"]`, 400},
		{"something behind it", `{"hooks":[]}{}`, 400},
		{"a deadline of nobody", `{"hooks":[],"deadlines":{"` + one + `":3}}`, 400},
		{"more than may come", `{"hooks":[]` + strings.Repeat(" ", 2<<20) + `}`, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			r.home("PUT", "/relay/v1/hooks", inJSON(t, map[string]any{"hooks": hashes(1)}), http.StatusNoContent, nil)
			got := r.call("PUT", "/relay/v1/hooks", tt.body, "Authorization", "Bearer "+r.key.Token())
			if got.StatusCode != tt.status {
				said, _ := io.ReadAll(got.Body)
				t.Errorf("%s %s, want %d", got.Status, said, tt.status)
			}
			want := http.StatusOK
			if tt.name == "another set" {
				want = http.StatusNotFound // it is not in that set
			}
			if got := r.call("GET", "/hooks/"+hookID, ""); got.StatusCode != want {
				t.Errorf("a delivery afterwards: %s, want %d", got.Status, want)
			}
		})
	}
}

// What is wrong with a call of the home computer is said, and changes nothing.
func TestTheHomeComputersCallsAreCheckedWhole(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	r := startHooks(t, c)
	defer r.stop()
	r.send("hello")
	batch := r.next("")
	if len(batch) != 1 {
		t.Fatalf("%d handed out, want 1", len(batch))
	}
	id := batch[0].ID
	many := func(n int) string { return `"` + id + `"` + strings.Repeat(`,"x"`, n-1) }
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"half a second", "GET", "/relay/v1/next?wait=0.5", "", 400},
		{"a wait past the longest", "GET", "/relay/v1/next?wait=61", "", 400},
		{"a number beyond numbers", "GET", "/relay/v1/next?wait=99999999999999999999", "", 400},
		{"fewer than none", "GET", "/relay/v1/next?max=-1", "", 400},
		{"none", "GET", "/relay/v1/next?max=0&wait=60", "", 200},
		{"a query that is none", "GET", "/relay/v1/next?wait=%zz", "", 400},
		{"as many held as may be", "GET", "/relay/v1/next?max=0&holding=" + strings.Repeat("x,", 255) + "x", "", 200},
		{"one more", "GET", "/relay/v1/next?max=0&holding=" + strings.Repeat("x,", 256) + "x", "", 400},
		{"a held id too long", "GET", "/relay/v1/next?max=0&holding=" + strings.Repeat("x", 65), "", 400},
		{"an id too many", "POST", "/relay/v1/ack", `{"ids":[` + many(1001) + `]}`, 400},
		{"an id that is too long", "POST", "/relay/v1/ack", `{"ids":["` + id + `","` + strings.Repeat("x", 65) + `"]}`, 400},
		{"an id that is none", "POST", "/relay/v1/ack", `{"ids":["` + id + `",7]}`, 400},
		{"ids that are no array", "POST", "/relay/v1/ack", `{"ids":"` + id + `"}`, 400},
		{"null", "POST", "/relay/v1/ack", `{"ids":null}`, 400},
		{"a good id and a bad answer", "POST", "/relay/v1/ack", `{"ids":["` + id + `"],"answers":{"` + id + `":{"status":99}}}`, 400},
		{"answers that are none", "POST", "/relay/v1/ack", `{"ids":["` + id + `"],"answers":[]}`, 400},
		{"a header on two lines", "POST", "/relay/v1/ack", `{"ids":["` + id + `"],"answers":{"` + id + `":{"status":200,"headers":[["Content-Type","a\r\nB: c"]]}}}`, 400},
		{"nothing", "POST", "/relay/v1/ack", ``, 400},
		{"half of it", "POST", "/relay/v1/ack", `{"ids":["` + id, 400},
		{"more than may come", "POST", "/relay/v1/ack", `{"ids":["` + id + `"]` + strings.Repeat(" ", 4<<20) + `}`, 413},
		{"neither", "POST", "/relay/v1/ack", `{}`, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := r
			r.t = t
			r.home(tt.method, tt.path, tt.body, tt.status, nil)
		})
	}
	var said struct{ Acked int }
	r.home("POST", "/relay/v1/ack", `{"ids":[`+many(1000)+`]}`, http.StatusOK, &said)
	if said.Acked != 1 {
		t.Errorf("%d acknowledged, want the one that stayed through all of it", said.Acked)
	}
	if got := r.call("GET", "/relay/v1/status", "", "Authorization", "Bearer "+strings.Repeat("x", 40<<10)); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a token beyond all headers: %s, want 431", got.Status)
	}
}
