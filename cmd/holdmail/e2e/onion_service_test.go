package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// onionService is a Tor that serves one onion address and can call all those of
// the network.
type onionService struct {
	Socks string // where it takes calls by SOCKS5: host:port
	Onion string // the address it serves: 56 letters and .onion
	*tor
}

// startTor starts an onion service whose port 80 leads to target, a host:port or
// unix:path, until the test ends. Each option is a line of torrc for the service,
// such as "HiddenServiceExportCircuitID haproxy". Services of all tests share one
// network, and each can be called through the Socks of any.
func startTor(t testing.TB, target string, options ...string) onionService {
	t.Helper()
	network, dir, port := startTorNetwork(t), t.TempDir(), freePort(t)
	service := filepath.Join(dir, "service")
	lines := append([]string{
		"SocksPort 127.0.0.1:" + port + " ExtendedErrors",
		"DataDirectory " + filepath.Join(dir, "data"),
		"HiddenServiceDir " + service,
		"HiddenServicePort 80 " + target,
	}, options...)
	node, err := runTor(dir, network+strings.Join(lines, "\n")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("tor wrote:\n%s", node.log())
		}
	})
	return onionService{Socks: "127.0.0.1:" + port, Onion: node.awaitHost(t, service), tor: node}
}

// url is the address as an http URL, on port 80.
func (s onionService) url() string { return fmt.Sprintf("http://%s", s.Onion) }
