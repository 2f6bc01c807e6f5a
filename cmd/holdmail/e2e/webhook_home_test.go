package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// home is a home computer that is paired with a relay: its process is `holdmail
// pull`, which hands what came for its addresses to a receiver.
type home struct {
	process
	Dir      string // all it keeps
	Public   string // what the world calls the relay
	relay    *relay
	receiver *receiver
}

// newHome does what a person does: pairs, and tells the relay the setup code. It has
// no address yet and pulls nothing. What env says is added to the relay's settings.
func newHome(t testing.TB, env ...string) *home {
	t.Helper()
	h := pairedHome(t, nil, env...)
	h.receiver = startReceiver(t)
	return h
}

// pairedHome is newHome without a receiver. What flags say is told to `holdmail pair`.
func pairedHome(t testing.TB, flags []string, env ...string) *home {
	t.Helper()
	h := &home{process: process{log: &output{}}, Dir: t.TempDir(), relay: newRelay(t, env...)}
	h.Public = h.relay.URL
	h.command = func() *exec.Cmd {
		return h.holdmail(watched, "pull", "--relay", h.relay.URL, "--to", h.receiver.URL+"/{hook}")
	}
	code := setupCode(t, h.run(t, append([]string{"pair"}, flags...)...))
	h.relay.Env = append(h.relay.Env, "CONCH_RELAY_SETUP="+code)
	return h
}

// holdmail is a command of the home computer.
func (h *home) holdmail(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HOME="+h.Dir, "XDG_CONFIG_HOME="+filepath.Join(h.Dir, "config"), "XDG_STATE_HOME="+filepath.Join(h.Dir, "state"))
	return cmd
}

// run runs a command of the home computer to its end and returns what it printed.
func (h *home) run(t testing.TB, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	cmd := h.holdmail(binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("holdmail %s: %v\n%s%s", strings.Join(args, " "), err, &out, &log)
	}
	return out.String()
}

// setupCode finds the setup code in what `holdmail pair` printed.
func setupCode(t testing.TB, printed string) string {
	t.Helper()
	words := strings.Fields(printed)
	i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "hm1.") || strings.HasPrefix(w, "hm2.") })
	if i < 0 {
		t.Fatalf("no setup code in %q", printed)
	}
	return words[i]
}

// start starts the pulling, again perhaps, and returns once the relay knows the
// addresses.
func (h *home) start(t testing.TB, hooks ...string) {
	t.Helper()
	h.spawn(t)
	for _, hook := range hooks {
		h.registered(t, hook)
	}
}

// stop stops the pulling, once it has begun: before that nobody hears the signal.
func (h *home) stop(t testing.TB) {
	t.Helper()
	eventually(t, 20*time.Second, func() (bool, string) {
		h.alive(t)
		return strings.Contains(h.log.String(), "pulling"), "pull has not begun"
	})
	h.process.stop(t)
}

// registered returns once the relay knows the address at path. It knocks with more
// than any delivery may be, which only an address that is known refuses for that.
func (h *home) registered(t testing.TB, path string) {
	t.Helper()
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, int64(1)<<40)
	eventually(t, 20*time.Second, func() (bool, string) {
		h.alive(t)
		return slices.Contains(converse(t, h.relay, head, ""), http.StatusRequestEntityTooLarge), h.log.String()
	})
}

// deliver sends a delivery, with headers (name, value, ...), a GET if it has no
// body, and returns the answer.
func (h *home) deliver(t testing.TB, path, body string, headers ...string) answer {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, h.relay.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	a, err := h.relay.do(req)
	if err != nil {
		t.Fatalf("%v\n%s", err, h.relay.log)
	}
	return a
}

// depth is how many deliveries wait at the relay.
func (h *home) depth(t testing.TB) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.relay.URL+"/relay/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token(t))
	a, err := h.relay.do(req)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("status: %d %s, %v\n%s", a.Status, a.Body, err, h.relay.log)
	}
	var status struct{ Depth *int }
	if err := json.Unmarshal(a.Body, &status); err != nil || status.Depth == nil {
		t.Fatalf("status: %s, %v", a.Body, err)
	}
	return *status.Depth
}

// drained returns once nothing waits at the relay.
func (h *home) drained(t testing.TB) {
	t.Helper()
	eventually(t, time.Minute, func() (bool, string) {
		depth := h.depth(t)
		return depth == 0, fmt.Sprintf("%d deliveries wait\n%s", depth, h.log)
	})
}

// key is the file of the key that the home paired with.
func (h *home) key() string { return filepath.Join(h.Dir, "config", "holdmail", "relay.json") }

// token is what opens the relay's queue: the home's own file has it.
func (h *home) token(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(h.key())
	if err != nil {
		t.Fatal(err)
	}
	var key struct{ Token string }
	if err := json.Unmarshal(content, &key); err != nil || key.Token == "" {
		t.Fatalf("no token in the key's file: %v", err)
	}
	return key.Token
}

// addHook makes an address of that name and returns its path.
func (h *home) addHook(t testing.TB, name string) string {
	t.Helper()
	printed := h.run(t, "hook", "new", name)
	id := regexp.MustCompile(`[A-Za-z0-9_-]{22,}`).FindString(printed)
	if id == "" {
		t.Fatalf("no address in %q", printed)
	}
	return "/hooks/" + id
}

// writeHook writes an address with an id of the test's choice into the file of
// addresses and returns its path.
func (h *home) writeHook(t testing.TB, name, id string) string {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(h.Dir, "config", "holdmail", "hooks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%s %s\n", name, id); err != nil {
		t.Fatal(err)
	}
	return "/hooks/" + id
}
