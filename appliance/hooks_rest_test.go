package appliance

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secrets is what a sender sends, and what must stand nowhere.
const (
	secretBody   = "a very private message"
	secretQuery  = "queried"
	secretHeader = "heading"
)

// The file is read as a kill would leave it: beside a relay that runs. What was
// acknowledged has left its pages to others, or to nobody.
func TestAtRestNothingIsInTheClear(t *testing.T) {
	c := testConfig(t)
	r := startHooks(t, c)
	for _, body := range []string{secretBody, secretBody + strings.Repeat(".", 100_000), strings.Repeat(secretBody, 40_000)} {
		if got := r.call("POST", "/hooks/"+hookID+"?q="+secretQuery, body, "X-Secret", secretHeader); got.StatusCode != http.StatusOK {
			t.Fatal(got.Status)
		}
	}
	r.nothingInTheClear(c, "kept")
	r.takeAll()
	r.nothingInTheClear(c, "acknowledged")
	if got := r.send("another"); got.StatusCode != http.StatusOK {
		t.Fatal(got.Status)
	}
	r.nothingInTheClear(c, "begun anew")
	r.stop()
	r.nothingInTheClear(c, "stopped")
}

// takeAll opens all deliveries that wait, and acknowledges them.
func (r hookRelay) takeAll() {
	r.t.Helper()
	for {
		batch := r.next("?max=1")
		if len(batch) == 0 {
			return
		}
		request := r.open(batch[0])
		if !bytes.HasPrefix(request.Body, []byte(secretBody)) || !strings.HasSuffix(request.URL, secretQuery) {
			r.t.Errorf("%s to %s came", request, request.URL)
		}
		r.home("POST", "/relay/v1/ack", `{"ids":["`+batch[0].ID+`"]}`, http.StatusOK, nil)
	}
}

// nothingInTheClear looks through all that is kept.
func (r hookRelay) nothingInTheClear(c Config, when string) {
	r.t.Helper()
	kept, err := os.ReadFile(dataFile(c))
	if err != nil {
		r.t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(hookID))
	if !bytes.Contains(kept, hash[:]) {
		r.t.Fatalf("%s: not even the address's hash is there: is this the file?", when)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(dataFile(c)), "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		kept, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, clear := range []string{secretBody, secretQuery, secretHeader, "X-Secret", hookID, "/hooks/", r.key.Token(), "POST"} {
			if bytes.Contains(kept, []byte(clear)) {
				r.t.Errorf("%s: %s holds %q", when, filepath.Base(file), clear)
			}
		}
	}
}
