package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestClients lets the wallets of clients.mjs, which pack and open with npm's
// didcomm-node and jose and sign with Node's crypto, use a relay.
func TestClients(t *testing.T) {
	installClients(t)
	g := startGatekeeper(t)
	r := startRelay(t, "ARCHON_GATEKEEPER_URL="+g.URL)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, program(t, "node"), "clients.mjs")
	node.Env = append(os.Environ(), "RELAY="+r.URL, "GATEKEEPER="+g.URL)
	out, err := node.CombinedOutput()
	if err != nil {
		t.Fatalf("clients.mjs: %v\n%s\n%s", err, out, r.log)
	}
	t.Logf("%s", out)
}

// installClients brings node_modules to what the lock file names.
func installClients(t testing.TB) {
	t.Helper()
	lock, err := os.Stat("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	switch installed, err := os.Stat("node_modules/.package-lock.json"); {
	case err == nil && !installed.ModTime().Before(lock.ModTime()):
		return
	case err != nil && !os.IsNotExist(err):
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, program(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// program finds a program that the test cannot do without.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test needs what .ci/prepare installs, Node 20 or newer among it: %v", err)
	}
	return path
}
