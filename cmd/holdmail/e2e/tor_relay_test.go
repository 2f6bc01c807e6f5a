package e2e

import (
	"crypto/ed25519"
	"crypto/sha3"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// torMailbox is a relay behind an onion service of the tests' Tor network, by which it
// also delivers.
type torMailbox struct {
	*relay
	tor onionService
}

// startTorMailbox returns a relay whose socket Tor brings callers to. Others may take
// a while to find it (awaitFrom).
func startTorMailbox(t testing.TB, env ...string) torMailbox {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "onion.sock")
	tor := startTor(t, "unix:"+socket, "HiddenServiceExportCircuitID haproxy")
	return torMailbox{startRelay(t, append([]string{
		"HOLDMAIL_ONION_LISTEN=" + socket,
		"HOLDMAIL_ONION_NAME=" + tor.Onion,
		"ARCHON_DIDCOMM_TOR_PROXY=" + tor.Socks,
	}, env...)...), tor}
}

// by makes the calls of someone who comes by Tor, from its port socks. All that one name
// calls shares a circuit; another name has another (Tor's IsolateSOCKSAuth).
func (m torMailbox) by(t testing.TB, socks, name string) *relay {
	way := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "socks5h", Host: socks, User: url.UserPassword(name, "x")})}
	t.Cleanup(way.CloseIdleConnections)
	return &relay{URL: m.tor.url(), client: &http.Client{Transport: way}, log: m.log}
}

// awaitFrom returns once the service was found through the port socks.
func (m torMailbox) awaitFrom(t testing.TB, socks string) {
	t.Helper()
	start, finder := time.Now(), m.by(t, socks, "finder")
	eventually(t, 90*time.Second, func() (bool, string) {
		a, err := finder.call(http.MethodGet, "/health", "", nil)
		return err == nil && a.Status == http.StatusOK, fmt.Sprintf("%d %s %v", a.Status, a.Body, err)
	})
	t.Logf("found after %v", time.Since(start).Round(time.Millisecond))
}

// unservedOnion is the name of a key that was just made.
func unservedOnion(t testing.TB) string {
	t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const version = "\x03"
	sum := sha3.Sum256([]byte(".onion checksum" + string(key) + version))
	name := base32.StdEncoding.EncodeToString([]byte(string(key) + string(sum[:2]) + version))
	return strings.ToLower(name) + ".onion"
}
