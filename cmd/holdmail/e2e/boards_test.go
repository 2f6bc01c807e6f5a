package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBoards runs the binary of every board that is not this machine, in an
// emulator: it serves, passes its own selftest, and has its mail after a kill.
func TestBoards(t *testing.T) {
	for _, board := range []struct{ name, emulator, env string }{
		{"arm64", "qemu-aarch64-static", "GOARCH=arm64"},
		{"armv7", "qemu-arm-static", "GOARCH=arm GOARM=7"},
		{"armv6", "qemu-arm-static", "GOARCH=arm GOARM=6"},
	} {
		t.Run(board.name, func(t *testing.T) {
			t.Parallel()
			emulator, err := exec.LookPath(board.emulator)
			if err != nil {
				t.Fatalf("%v; it is in Debian's package qemu-user-static", err)
			}
			path := filepath.Join(t.TempDir(), "holdmail")
			if err := build(path, strings.Fields("CGO_ENABLED=0 "+board.env)...); err != nil {
				t.Fatal(err)
			}
			r, w := newRelay(t), newWallet(t)
			r.Run = []string{emulator, path}
			r.start(t)
			if out, err := exec.Command(emulator, path, "selftest", r.URL).CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
				t.Fatalf("selftest: %v\n%s", err, out)
			}
			large, small := envelope(3<<20, "large", w), envelope(700, "small", w)
			for _, e := range [][]byte{large, small} {
				if _, err := r.deposit(e); err != nil {
					t.Fatal(err)
				}
			}
			r.kill(t)
			r.start(t)
			mail, err := r.fetch(w)
			if err != nil || len(mail) != 2 || mail[0].Message != string(large) || mail[1].Message != string(small) {
				t.Fatalf("after a kill there are %d messages, %v; want the two that were deposited", len(mail), err)
			}
			r.stop(t)
		})
	}
}
