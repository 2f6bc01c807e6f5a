package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	floodUpload = 5 << 20   // the largest envelope
	floodMemory = 128 << 20 // that the relay stays under, whatever comes
	floodWave   = time.Second
)

// TestFlood sends waves of everything that strangers can send too much of, over
// some hundred connections at a time. The relay stays small, goes on answering
// one honest reader, crashes never, and its file adds up.
func TestFlood(t *testing.T) {
	for _, budgets := range []string{"on", "off"} {
		t.Run("budgets "+budgets, func(t *testing.T) {
			f := newFlood(t, budgets)
			reader := f.watch(t)
			for _, wave := range f.waves(t) {
				f.run(t, wave)
			}
			reader.report(t)
			f.relay.stop(t)
			checkRecount(t, f.relay)
		})
	}
}

// flood is a relay under attack by many sources, played through a proxy that it
// trusts.
type flood struct {
	relay            *relay
	sources          atomic.Int64
	served, refused  atomic.Int64 // answers: 200, and 429 or 503
	rejected, broken atomic.Int64 // answers of another kind, and connections without one
}

func newFlood(t testing.TB, budgets string) *flood {
	t.Helper()
	r := newRelay(t, "HOLDMAIL_RATE_LIMIT="+budgets, "HOLDMAIL_TRUSTED_PROXIES=127.0.0.0/8", "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=67108864",
		"ARCHON_DIDCOMM_MAX_CHALLENGES=30000") // of which no source but all together could take too many
	r.Run = []string{binary} // the race detector has a memory of its own
	r.start(t)
	return &flood{relay: r}
}

// wave is one kind of trouble: each of its connections sends a request, slowly
// or at once, and then another.
type wave struct {
	name    string
	conns   int
	request func(from string) []byte // complete but for what is held back
	hold    int                      // bytes at the end that are never sent
}

func (f *flood) waves(t testing.TB) []wave {
	largest := envelope(floodUpload, "flood", newWallet(t))
	form3 := []byte(strings.Replace(string(largest[:floodUpload-1]), `{"protected"`, `{ "protected"`, 1))
	many := make([]wallet, 1000)
	for i := range many {
		many[i] = newWallet(t)
	}
	toMany := envelope(200<<10, "many", many...)
	post := func(kind string, body []byte, more ...string) func(string) []byte {
		return func(from string) []byte { return passedOn("POST", "/api/v1/messages", from, kind, body, more...) }
	}
	get := func(from string) []byte { return passedOn("GET", "/api/v1/challenge", from, "", nil) }
	bomb := zipped(t, bytes.Repeat([]byte(" "), 1<<30/8))
	fits := zipped(t, largest)
	deep := []byte(strings.Repeat(`{"a":[`, floodUpload/8))
	wide := []byte(`{"a":[` + strings.Repeat(`{},`, floodUpload/4) + `{}]}`)
	escaped := []byte(`{"message":"` + strings.Repeat(`\u0061`, floodUpload/8) + `"}`)
	header := []byte(`{"ciphertext":"A","recipients":[{"header":{"kid":"did:x:y"}}],"protected":"` + strings.Repeat("e30A", floodUpload/4-100) + `"}`)
	claims := []byte(`{"did":"did:x:y","challenge":"c","signature":"s","ids":[` + strings.Repeat(`"123456789012345678901234567890123456",`, 40_000) + `""]}`)
	return []wave{
		{"envelopes of the largest size", 500, post(packedType, largest), 0},
		{"envelopes without their end", 120, post(packedType, largest), 1000},
		{"spaced envelopes", 200, post("application/json", form3), 0},
		{"bodies that stand still", 500, post(packedType, largest), floodUpload - 2000},
		{"headers that stand still", 500, get, 2},
		{"challenges", 100, get, 0},
		{"many recipients", 50, post(packedType, toMany), 0},
		{"gzip bombs", 200, post(packedType, bomb, "Content-Encoding: gzip"), 0},
		{"gzip that fits", 200, post(packedType, fits, "Content-Encoding: gzip"), 0},
		{"deep JSON", 100, post("application/json", deep), 0},
		{"wide JSON", 100, post("application/json", wide), 0},
		{"escapes", 100, post("application/json", escaped), 0},
		{"huge protected headers", 100, post(packedType, header), 0},
		{"claims of many ids", 100, func(from string) []byte {
			return passedOn("POST", "/api/v1/messages/remove", from, "", claims)
		}, 0},
	}
}

// passedOn is an HTTP/1.1 request by from, as its proxy passes it on.
func passedOn(method, path, from, kind string, body []byte, more ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: relay\r\nX-Forwarded-For: %s\r\n", method, path, from)
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	for _, line := range more {
		fmt.Fprintf(&b, "%s\r\n", line)
	}
	if body != nil {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

func zipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// run sends one wave and checks the relay's memory meanwhile.
func (f *flood) run(t *testing.T, w wave) {
	t.Helper()
	for _, n := range []*atomic.Int64{&f.served, &f.refused, &f.rejected, &f.broken} {
		n.Store(0)
	}
	until := time.Now().Add(floodWave)
	peak := peakDuring(t, f.relay, func() {
		var g sync.WaitGroup
		for range w.conns {
			g.Go(func() {
				for time.Now().Before(until) {
					f.send(w, until)
				}
			})
		}
		g.Wait()
	})
	t.Logf("%-30s peak %5.1f MiB, served %d, refused %d, rejected %d, no answer %d", w.name, mebibytes(peak),
		f.served.Load(), f.refused.Load(), f.rejected.Load(), f.broken.Load())
	if peak > floodMemory {
		t.Errorf("%s: anonymous memory rose to %.1f MiB", w.name, mebibytes(peak))
	}
	select {
	case <-f.relay.exited:
		t.Fatalf("holdmail ended: %v\n%s", f.relay.cmd.ProcessState, f.relay.log)
	default:
	}
}

// send makes one connection and one request of a wave, from a source of its own.
func (f *flood) send(w wave, until time.Time) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.relay.URL, "http://"))
	if err != nil {
		f.broken.Add(1)
		return
	}
	defer conn.Close()
	if conn.SetDeadline(until) != nil {
		return
	}
	n := f.sources.Add(1)
	whole := w.request(fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255))
	go func() { _, _ = conn.Write(whole[:len(whole)-w.hold]) }() // until conn is closed; a refusal may come first
	status := make([]byte, len("HTTP/1.1 200"))
	_, err = io.ReadFull(conn, status)
	code, _ := strconv.Atoi(string(status[len("HTTP/1.1 "):]))
	switch {
	case err != nil:
		f.broken.Add(1)
	case code == http.StatusOK:
		f.served.Add(1)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		f.refused.Add(1)
	default:
		f.rejected.Add(1)
	}
}

// reader is an honest one, which asks every so often.
type reader struct {
	took    []time.Duration
	refused int
	failed  []error
	stop    func()
}

// watch has an owner, from a source of its own, ask for /health, a challenge and
// its mail until report.
func (f *flood) watch(t testing.TB) *reader {
	owner, letter := newWallet(t), ""
	letter = string(envelope(1<<10, "honest", owner))
	mustFile(t, f.relay, []byte(letter))
	r, done, stopped := &reader{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			begun := time.Now()
			err := f.relay.pickHonestly(owner, letter)
			r.took = append(r.took, time.Since(begun))
			if no := (*refusal)(nil); errors.As(err, &no) {
				r.refused++
			} else if err != nil {
				r.failed = append(r.failed, err)
			}
		}
	}()
	r.stop = sync.OnceFunc(func() { close(done); <-stopped })
	t.Cleanup(r.stop)
	return r
}

// honest is the source of the reader.
const honest = "203.0.113.99"

// pickHonestly asks for /health and for the owner's mail, which is one letter.
func (r *relay) pickHonestly(owner wallet, letter string) error {
	if a, err := r.from(honest, http.MethodGet, "/health", nil); err != nil || a.Status != http.StatusOK {
		return fmt.Errorf("/health: %d %s, %v", a.Status, a.Body, err)
	}
	a, err := r.from(honest, http.MethodGet, "/api/v1/challenge", nil)
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return &refusal{Status: a.Status, Message: string(a.Body)}
	}
	challenge, err := textOf(a.Body, "challenge")
	if err != nil {
		return err
	}
	a, err = r.from(honest, http.MethodPost, "/api/v1/messages/fetch", owner.proof(challenge))
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return &refusal{Status: a.Status, Message: string(a.Body)}
	}
	if !strings.Contains(string(a.Body), strconv.Quote(letter)) {
		return fmt.Errorf("the mail is %.200s", a.Body)
	}
	return nil
}

// report ends the watch: every call was answered, the most of them well.
func (r *reader) report(t testing.TB) {
	t.Helper()
	r.stop()
	slices.Sort(r.took)
	t.Logf("an honest reader: %d loops of health, challenge and fetch, p50 %v, p99 %v, %d refused, %d failed", len(r.took),
		r.took[len(r.took)/2], r.took[len(r.took)*99/100], r.refused, len(r.failed))
	if len(r.failed) > 0 {
		t.Errorf("an honest reader had no answer: %v", errors.Join(r.failed...))
	}
	if r.refused > len(r.took)/4 {
		t.Errorf("an honest reader was refused %d times out of %d", r.refused, len(r.took))
	}
}

// TestSlowUploadsMakeRoom has uploads that stand still hold all the memory there
// is. One that does not comes through, in their place.
func TestSlowUploadsMakeRoom(t *testing.T) {
	t.Parallel()
	r := startRelay(t, "HOLDMAIL_TRUSTED_PROXIES=127.0.0.0/8")
	const size = 2 << 20
	largest := envelope(floodUpload, "late", newWallet(t))
	var slow []net.Conn
	for n := range 12 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		part := passedOn("POST", "/api/v1/messages", fmt.Sprintf("198.51.100.%d", n), packedType, largest)[:size]
		if _, err := conn.Write(part); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	eventually(t, 20*time.Second, func() (bool, string) {
		a, err := r.from(honest, http.MethodPost, "/api/v1/messages", largest)
		return err == nil && a.Status == http.StatusOK, fmt.Sprintf("%d %s, %v", a.Status, a.Body, err)
	})
	ended := 0
	for _, conn := range slow {
		if conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
			continue
		}
		if answer, _ := io.ReadAll(conn); bytes.HasPrefix(answer, []byte("HTTP/1.1 503 ")) &&
			bytes.Contains(answer, []byte("Retry-After: ")) && bytes.Contains(answer, []byte("Connection: close")) {
			ended++
		}
	}
	if ended == 0 || ended == len(slow) {
		t.Errorf("%d of %d slow uploads were ended, want some", ended, len(slow))
	}
}
