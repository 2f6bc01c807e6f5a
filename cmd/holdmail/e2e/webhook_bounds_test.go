package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two hundred senders of a MiB each, at one time, are all kept within half a minute,
// in the memory that a relay has by default, if they come again when told to.
func TestWebhookCrowd(t *testing.T) {
	const senders, limit = 200, 30 * time.Second
	h := newHome(t, "HOLDMAIL_HOOK_MAX_BYTES=536870912", "HOLDMAIL_HOOK_ADDRESS_BYTES=536870912")
	h.relay.Run = []string{binary} // the race detector has a memory of its own
	h.relay.start(t)
	path := h.addHook(t, "crowd")
	h.start(t, path)
	h.stop(t)

	began := time.Now()
	var refused int
	peak := peakDuring(t, h.relay, func() { refused = sendAtOnce(t, h.relay, path, senders, limit) })
	t.Logf("%d MiB kept in %v, %d refusals, peak %.0f MiB", senders, time.Since(began).Round(time.Millisecond), refused, mebibytes(peak))
	if peak > floodMemory {
		t.Errorf("the relay took %.0f MiB, want %d at most", mebibytes(peak), floodMemory>>20)
	}
	h.spawn(t)
	sums := map[string]bool{}
	for _, got := range h.receiver.await(t, senders) {
		sums[got.SHA256] = true
	}
	for i := range senders {
		if sum := sha256.Sum256(random(i, 1<<20)); !sums[hex.EncodeToString(sum[:])] {
			t.Errorf("the body of sender %d did not come", i)
		}
	}
}

// sendAtOnce has senders deliver a MiB each, all at one time, and returns how often they
// were told to come again.
func sendAtOnce(t *testing.T, r *relay, path string, senders int, limit time.Duration) (refused int) {
	t.Helper()
	var (
		g        sync.WaitGroup
		mu       sync.Mutex // guards refused
		deadline = time.Now().Add(limit)
	)
	for i := range senders {
		g.Go(func() {
			for body := random(i, 1<<20); ; {
				a, err := r.call(http.MethodPost, path, "application/octet-stream", body)
				if err == nil && a.Status == http.StatusOK {
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("sender %d is not through after %v: %d %s, %v", i, limit, a.Status, a.Body, err)
					return
				}
				// A sender that is told to come again while it still sends may not
				// get to read that.
				after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
				if err == nil && (a.Status != http.StatusServiceUnavailable || after < 1) {
					t.Errorf("sender %d is answered %d %s, Retry-After %q", i, a.Status, a.Body, a.Header.Get("Retry-After"))
					return
				}
				mu.Lock()
				refused++
				mu.Unlock()
				<-time.After(time.Duration(max(after, 1)) * time.Second) // as told
			}
		})
	}
	g.Wait()
	return refused
}

// random is a body of size bytes, another for each seed.
func random(seed, size int) []byte {
	body := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(body)
	return body
}

// With its bounds raised, a delivery is as long as the longest that senders make.
func TestWebhookLongBodies(t *testing.T) {
	const size = 25 << 20
	h, path := pulledHook(t, "long", "HOLDMAIL_HOOK_MAX_BODY="+strconv.Itoa(size), "HOLDMAIL_MEMORY_BUDGET=201326592",
		"HOLDMAIL_HOOK_MAX_BYTES=268435456")
	body := random(1, size)
	curl(t, h.relay.URL+path, body, "-H", "Content-Type: application/octet-stream")
	sum := sha256.Sum256(body)
	if got := h.receiver.await(t, 1)[0]; got.Size != size || got.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%d bytes came, or others, want %d", got.Size, size)
	}
	a := h.deliver(t, path, string(body)+"x")
	if a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a byte more is answered %d, want 413", a.Status)
	}
}

// On the disk, and in the log, there is nothing of a delivery that the relay could
// read, and neither its address nor the token that opens the queue.
func TestWebhookAtRest(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "rest")
	h.stop(t)
	id := filepath.Base(path)
	secrets := map[string]string{
		"the address":      id,
		"its query":        "question-of-the-sender",
		"a header":         "X-Header-Of-The-Sender",
		"a header's value": "value-of-the-sender",
		"the body":         strings.Repeat("words of the sender ", 50),
		"the token":        h.token(t),
	}
	h.deliver(t, path+"?"+secrets["its query"], secrets["the body"], secrets["a header"], secrets["a header's value"])
	h.relay.stop(t)

	hash := sha256.Sum256([]byte(id))
	found := false
	for name, content := range h.relay.files(t) {
		found = found || bytes.Contains(content, hash[:])
		for what, secret := range secrets {
			for form, sought := range forms(secret) {
				if bytes.Contains(content, sought) {
					t.Errorf("%s holds %s %s", name, what, form)
				}
			}
		}
	}
	if !found {
		t.Error("no file holds the hash of the address: these are not the files of the relay")
	}
	for what, secret := range secrets {
		if strings.Contains(h.relay.log.String(), secret) {
			t.Errorf("the log tells %s:\n%s", what, h.relay.log)
		}
	}
}

// forms are the ways in which a secret might be kept without being sealed.
func forms(secret string) map[string][]byte {
	part := []byte(secret[:min(len(secret), 60)])
	return map[string][]byte{
		"as it is":      part,
		"in hex":        []byte(hex.EncodeToString(part)),
		"in lower case": bytes.ToLower(part),
	}
}

// files are the contents of all the relay keeps, by name.
func (r *relay) files(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.Dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = content
	}
	return all
}

// A stranger finds no door where no home computer is paired, and none at an address
// that nobody registered.
func TestWebhookNoDoor(t *testing.T) {
	t.Parallel()
	unpaired := startRelay(t)
	h, path := pulledHook(t, "door")
	for _, tt := range []struct {
		r            *relay
		method, path string
		want         int
	}{
		{unpaired, "POST", path, 404},
		{unpaired, "GET", "/relay/v1/status", 404},
		{unpaired, "PUT", "/relay/v1/hooks", 404},
		{h.relay, "POST", path + "x", 404},
		{h.relay, "POST", path + "/more", 404},
		{h.relay, "PUT", path, 405},
		{h.relay, "DELETE", path, 405},
		{h.relay, "GET", "/relay/v1/status", 401},
		{h.relay, "GET", "/relay/v1/next", 401},
		{h.relay, "POST", "/relay/v1/ack", 401},
		{h.relay, "PUT", "/relay/v1/hooks", 401},
	} {
		a, err := tt.r.call(tt.method, tt.path, "", nil)
		if err != nil || a.Status != tt.want {
			t.Errorf("%s %s: %d, %v, want %d", tt.method, tt.path, a.Status, err, tt.want)
		}
	}
	if got := h.receiver.handled(t); len(got) > 0 {
		t.Errorf("%d deliveries came", len(got))
	}
}
