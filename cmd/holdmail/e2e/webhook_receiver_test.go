package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// receiver is the program on the home computer that webhooks are meant for:
// receiver.mjs, which nobody here wrote the verifying part of.
type receiver struct {
	process
	URL     string // http://127.0.0.1:port
	journal string // the file in which it writes what it handled

	offset int64     // of the journal, up to which it was read
	read   []handled // what was read of it
}

// startReceiver starts a receiver that has handled nothing yet.
func startReceiver(t testing.TB) *receiver {
	t.Helper()
	installClients(t)
	port, node := freePort(t), program(t, "node")
	r := &receiver{URL: "http://127.0.0.1:" + port, journal: filepath.Join(t.TempDir(), "journal")}
	r.command = func() *exec.Cmd {
		cmd := exec.Command(node, "receiver.mjs")
		cmd.Env = append(os.Environ(), "PORT="+port, "JOURNAL="+r.journal)
		return cmd
	}
	r.start(t)
	return r
}

// start starts the receiver, again perhaps, and returns once it listens.
func (r *receiver) start(t testing.TB) {
	t.Helper()
	r.spawn(t)
	eventually(t, 20*time.Second, func() (bool, string) {
		r.alive(t)
		conn, err := net.Dial("tcp", r.URL[len("http://"):])
		if err != nil {
			return false, err.Error()
		}
		return conn.Close() == nil, ""
	})
}

// handled is one request as the receiver saw it.
type handled struct {
	ID          string // Holdmail-Delivery-Id
	Repeat      string // Holdmail-Repeat
	WaitedFrom  string // Holdmail-Received-At
	OriginalURL string // Holdmail-Original-Url
	Number      string // Test-Number, of a message of senders.mjs
	Held        bool   // it wanted no answer the first time

	Method  string
	URL     string // path and query, as they came
	Headers [][2]string
	Size    int
	SHA256  string
	Scheme  string // of the signature it carried; "" for none
	Trusted bool   // what the sender's own library says of it
}

// handled returns what the receiver has handled so far, over all its lives, in
// order. It is for the test's own goroutine.
func (r *receiver) handled(t testing.TB) []handled {
	t.Helper()
	journal, err := os.Open(r.journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	more, err := io.ReadAll(io.NewSectionReader(journal, r.offset, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(more) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		var h handled
		if err := json.Unmarshal(line, &h); err != nil {
			t.Fatalf("in the receiver's journal: %v", err)
		}
		r.offset += int64(len(line))
		r.read = append(r.read, h)
	}
	return r.read
}

// await returns what the receiver handled once that is n requests.
func (r *receiver) await(t testing.TB, n int) (all []handled) {
	t.Helper()
	eventually(t, time.Minute, func() (bool, string) {
		r.alive(t)
		all = r.handled(t)
		return len(all) >= n, "the receiver waits for mail:\n" + r.log.String()
	})
	if len(all) > n {
		t.Fatalf("the receiver handled %d requests, want %d; the last: %+v", len(all), n, all[len(all)-1])
	}
	return all
}
