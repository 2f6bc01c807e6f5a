// Package e2e drives the built binary from outside, as strangers do: over HTTP,
// with signals, and on disks that are full. Of the relay's own packages it uses
// only the engine that can recount a file which nobody serves any more.
package e2e

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the holdmail that TestMain built, as it ships. Where the tests run
// with the race detector, watched is one that has it too.
var binary, watched string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdmail-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "holdmail")
	watched = binary
	err = build(binary, "CGO_ENABLED=0")
	if err == nil && raced {
		watched = filepath.Join(dir, "holdmail-watched")
		err = build(watched, "CGO_ENABLED=1", "GOFLAGS=-race "+os.Getenv("GOFLAGS"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Most of these tests wait, for disks and slow readers, more than they work.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer theTorNetwork.stop()
	return m.Run()
}

// build builds holdmail at path, with settings of the environment.
func build(path string, settings ...string) error {
	cmd := exec.Command("go", "build", "-o", path, "github.com/holdmail/holdmail/cmd/holdmail")
	cmd.Env = append(os.Environ(), settings...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building holdmail: %w\n%s", err, out)
	}
	return nil
}

// watchSource reads every folder of the program, so that `go test` takes no old
// result for a new one: it sees what a test reads, but not what a compiler does
// that the test runs.
var watchSource = sync.OnceFunc(func() {
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		panic(err) // the test stands in the source it is built from
	}
})

// relay is one holdmail: a data folder and a port that stay the same over any
// number of starts, stops and kills.
type relay struct {
	Dir string   // the data folder; the file is holdmail.db in it
	URL string   // http://127.0.0.1:port, without a slash at the end
	Env []string // NAME=value, read at each start; the later one of two wins
	Run []string // the command: watched by default; a test of memory wants what ships

	trust  *tls.Config // who is believed over TLS; nil speaks plain HTTP
	client *http.Client
	cmd    *exec.Cmd     // the last process started
	log    *output       // what that process wrote
	exited chan struct{} // closed once it has ended
}

// newRelay describes a relay that is not started yet, on a port that was free.
// What env says (NAME=value) is added to the settings every test needs.
func newRelay(t testing.TB, env ...string) *relay {
	t.Helper()
	watchSource()
	port := freePort(t)
	r := &relay{
		Dir:    t.TempDir(),
		URL:    "http://127.0.0.1:" + port,
		Run:    []string{watched},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	r.Env = append([]string{
		"ARCHON_BIND_ADDRESS=127.0.0.1",
		"ARCHON_DIDCOMM_PORT=" + port,
		"ARCHON_GATEKEEPER_URL=http://127.0.0.1:1", // nobody there
		"HOLDMAIL_RATE_LIMIT=off",                  // all tests are one source
	}, env...)
	return r
}

// freePort finds a port below the range that the kernel gives to callers: one
// that calls a relay which is down would, now and then, be given the very port
// it calls, and be connected to itself.
func freePort(t testing.TB) string {
	t.Helper()
	port, err := findPort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func findPort() (string, error) {
	for range 100 {
		port := strconv.Itoa(15000 + rand.IntN(17000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port, nil
		}
	}
	return "", errors.New("no free port below 32000")
}

// startRelay is a relay of its own that answers /health with 200, until the
// test ends.
func startRelay(t testing.TB, env ...string) *relay {
	t.Helper()
	r := newRelay(t, env...)
	r.start(t)
	return r
}

// start runs the binary and returns once a deposit could be kept.
func (r *relay) start(t testing.TB) {
	t.Helper()
	r.launch(t)
	r.await(t, http.StatusOK)
}

// launch runs the binary and returns once /health has any answer.
func (r *relay) launch(t testing.TB) {
	t.Helper()
	r.spawn(t)
	r.await(t, 0)
}

// spawn runs the binary and waits for nothing.
func (r *relay) spawn(t testing.TB) {
	t.Helper()
	r.log = &output{}
	r.cmd = exec.Command(r.Run[0], append(slices.Clone(r.Run[1:]), "serve")...)
	r.cmd.Env = append([]string{"HOLDMAIL_DATA=" + r.Dir}, r.Env...)
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, log, exited := r.cmd, r.log, make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	r.exited = exited
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-exited
		if strings.Contains(log.String(), "DATA RACE") {
			t.Errorf("holdmail has a data race:\n%s", log)
		}
	})
}

// await polls /health until it answers status (0 is any), and fails the test
// after ten seconds or when the process ends before that.
func (r *relay) await(t testing.TB, status int) {
	t.Helper()
	eventually(t, 10*time.Second, func() (bool, string) {
		select {
		case <-r.exited:
			t.Fatalf("holdmail ended before it answered: %v\n%s", r.cmd.ProcessState, r.log)
		default:
		}
		a, err := r.call(http.MethodGet, "/health", "", nil)
		if err != nil {
			return false, fmt.Sprintf("%v\n%s", err, r.log)
		}
		return status == 0 || a.Status == status, fmt.Sprintf("/health is %d %s, want %d\n%s", a.Status, a.Body, status, r.log)
	})
}

// stop ends the process as an operator does, and fails the test unless it
// leaves with 0 within ten seconds.
func (r *relay) stop(t testing.TB) {
	t.Helper()
	r.client.CloseIdleConnections()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stopping: %v\n%s", err, r.log)
	}
	select {
	case <-r.exited:
	case <-time.After(10 * time.Second):
		t.Fatalf("still running ten seconds after SIGTERM\n%s", r.log)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("ended with %d after SIGTERM, want 0\n%s", code, r.log)
	}
}

// kill ends the process amid whatever it does, and returns once it is gone. It may
// have ended already.
func (r *relay) kill(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("killing: %v\n%s", err, r.log)
	}
	<-r.exited
	r.client.CloseIdleConnections()
}

// eventually polls until ok says true, and fails the test with the last reason
// when limit has passed.
func eventually(t testing.TB, limit time.Duration, ok func() (done bool, reason string)) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		done, reason := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, reason)
		}
	}
}

// output keeps the end of what a process writes.
type output struct {
	mu   sync.Mutex // guards tail
	tail []byte
}

// Write keeps at most the last 64 KiB.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if drop := len(o.tail) - 64<<10; drop > 0 {
		o.tail = slices.Delete(o.tail, 0, drop)
	}
	return len(p), nil
}

// String is the output so far, indented for a test's report.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return "  | " + strings.ReplaceAll(strings.TrimSpace(string(o.tail)), "\n", "\n  | ")
}
