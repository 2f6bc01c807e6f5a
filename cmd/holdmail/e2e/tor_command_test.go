package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One command takes an owner from a Tor that knows of no relay to an address that
// is proved to lead to it; a second time it changes nothing. Tor is a user of its own,
// whose group has the relay's socket, as the service manager would give it.
func TestTheOwnersCommandMakesTheRelayReachableByTor(t *testing.T) {
	t.Parallel()
	r, dir, socks := startOnion(t), t.TempDir(), "127.0.0.1:"+freePort(t)
	file, settings, service := filepath.Join(dir, "torrc"), filepath.Join(dir, "holdmail.env"), filepath.Join(dir, "service")
	before := startTorNetwork(t) + "User debian-tor\nSocksPort " + socks + "\nDataDirectory " + filepath.Join(dir, "data") + "\nLog notice file " + filepath.Join(dir, "log") + "\n"
	for path, text := range map[string]string{file: before, settings: "HOLDMAIL_ONION_LISTEN=" + r.socket + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openToAll(t, filepath.Dir(r.socket))
	openToAll(t, dir)
	command(t, "chown", "debian-tor", dir)
	command(t, "chgrp", "debian-tor", r.socket)
	setUp := func() (*exec.Cmd, *output) {
		out := &output{}
		cmd := exec.CommandContext(t.Context(), binary, "tor", "--write", "--torrc", file, "--service-dir", service, "--env-file", settings, "--socks", socks)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}

	cmd, out := setUp()
	eventually(t, time.Minute, func() (bool, string) {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "HiddenServiceDir "+service), out.String()
	})
	node, err := runTorFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.stop)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the command: %v\n%s\nTor:\n%s", err, out, node.log())
	}
	name := node.awaitHost(t, service)
	for _, want := range []string{"HiddenServicePort 80 unix:" + r.socket, "HiddenServiceExportCircuitID haproxy", "http://" + name + "/didcomm", "remove the envelope", "PASS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the command does not say %q:\n%s", want, out)
		}
	}
	if text, err := os.ReadFile(settings); err != nil || !strings.Contains(string(text), "\nHOLDMAIL_ONION_NAME="+name+"\nARCHON_DIDCOMM_TOR_PROXY="+socks+"\n") {
		t.Errorf("the settings are %q, %v; want the name and the proxy in them", text, err)
	}

	cmd, out = setUp()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the command, again: %v\n%s", err, out)
	}
	for _, want := range []string{"unchanged " + file, "unchanged " + settings, "PASS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the command, again, does not say %q:\n%s", want, out)
		}
	}
	backups, err := filepath.Glob(file + ".*.bak")
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups are %q, %v; want one", backups, err)
	}
	if text, err := os.ReadFile(backups[0]); err != nil || string(text) != before {
		t.Errorf("the backup is %q, %v; want the torrc as it was", text, err)
	}
}

// openToAll lets every user come by a test's folder, and by the one above it.
func openToAll(t testing.TB, dir string) {
	t.Helper()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
