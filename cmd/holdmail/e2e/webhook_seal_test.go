package e2e

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
)

// What the relay sealed opens with an HPKE that nobody here wrote, for both kinds
// of keys, and is the request as it was sent. The answer goes back to its sender.
func TestWebhookOpensElsewhere(t *testing.T) {
	t.Parallel()
	for kind, flags := range map[string][]string{"hm1": nil, "hm2": {"--post-quantum"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := pairedHome(t, flags)
			h.relay.start(t)
			const id = "opened-elsewhere"
			opened := h.openElsewhere(t, id)
			for _, body := range []string{"grüße", "\xff\x00"} {
				got := h.live(t, "/hooks/"+id+"?a=%20", body)
				if got.Status != http.StatusAccepted || string(got.Body) != "opened" {
					t.Errorf("answered %d %q, want the home computer's 202", got.Status, got.Body)
				}
				r, ok := <-opened
				for ok && string(r.body(t)) != body {
					r, ok = <-opened // the one before, which was kept first
				}
				if r.Method != http.MethodPost || r.URL != h.Public+"/hooks/"+id+"?a=%20" {
					t.Errorf("%q came as %+v", body, r)
				}
			}
		})
	}
}

// sealed is a request as it is sealed: the JSON of the specification.
type sealed struct {
	Method, URL string
	Headers     [][2]string
	Body        struct{ Text, Base64 string }
}

func (s sealed) body(t testing.TB) []byte {
	t.Helper()
	if s.Body.Text != "" {
		return []byte(s.Body.Text)
	}
	body, err := base64.StdEncoding.DecodeString(s.Body.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// openElsewhere lets opener.mjs drain what comes to the address with that id, until
// the test ends. The channel is closed if it ends before.
func (h *home) openElsewhere(t testing.TB, id string) <-chan sealed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program(t, "node"), "opener.mjs")
	cmd.Env = append(os.Environ(), "RELAY="+h.relay.URL, "KEY="+h.key(), "HOOK="+id)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened := make(chan sealed, 100)
	t.Cleanup(func() {
		cancel()
		for range opened {
		}
		_ = cmd.Wait() // killed
	})
	lines := bufio.NewScanner(out)
	registered := lines.Scan()
	go func() {
		defer close(opened)
		var s sealed
		for lines.Scan() && json.Unmarshal(lines.Bytes(), &s) == nil {
			opened <- s
			s = sealed{}
		}
	}()
	if !registered {
		t.Fatal("opener.mjs did not register the address")
	}
	return opened
}
