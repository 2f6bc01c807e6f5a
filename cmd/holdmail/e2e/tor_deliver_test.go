package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// Two relays that nobody reaches but by Tor bring each other's mail, and say why where
// they cannot.
func TestMailIsDeliveredByTor(t *testing.T) {
	t.Parallel()
	installClients(t)
	near, far := startTorMailbox(t), startTorMailbox(t)
	far.awaitFrom(t, near.tor.Socks)
	near.awaitFrom(t, far.tor.Socks)
	writeToEachOther(t, near, far)
	timeDeliveries(t, near, far)

	far.kill(t)
	wantUndelivered(t, near, far.tor.Onion, "the onion service refused the connection")
	far.start(t)
	bob := newWallet(t)
	packed := envelope(1000, "once it is back", bob)
	wantType(t, near.deliver(t, bob, far.tor.url(), packed), http.StatusOK)
	wantMail(t, far.relay, bob, string(packed))

	wantUndelivered(t, near, unservedOnion(t), "the onion service cannot be reached: its descriptor was not found, it may be down")
	wantUndelivered(t, near, onionName, "the onion service cannot be reached: its name is no onion service's") // well spelt, but no key

	near.tor.stop()
	wantUndelivered(t, near, far.tor.Onion, "the proxy for onion services cannot be reached")
	wantType(t, near.deliver(t, bob, near.tor.url(), packed), http.StatusOK) // which takes no trip
	wantMail(t, near.relay, bob, string(packed))
}

// wantUndelivered fails the test unless m says why it brings no mail to an onion service.
func wantUndelivered(t testing.TB, m torMailbox, onion, why string) {
	t.Helper()
	w := newWallet(t)
	a := m.deliver(t, w, "http://"+onion+"/didcomm", envelope(1000, "lost", w))
	if said := wantRefusal(t, a, http.StatusBadGateway); said != why {
		t.Errorf("%q, want %q\n%s", said, why, m.log)
	}
}

// timeDeliveries tells what a delivery takes without the way through the real network.
// A relay that was started again has a new circuit.
func timeDeliveries(t *testing.T, near, far torMailbox) {
	t.Helper()
	near.kill(t)
	near.start(t)
	w, took := newWallet(t), make([]time.Duration, 11)
	for i := range took {
		start := time.Now()
		wantType(t, near.deliver(t, w, far.tor.url(), envelope(1000, fmt.Sprint("letter ", i), w)), http.StatusOK)
		took[i] = time.Since(start).Round(time.Millisecond)
	}
	first, later := took[0], took[1:]
	slices.Sort(later)
	t.Logf("a delivery by a new circuit took %v; %d later ones %v to %v, p50 %v", first, len(later), later[0], later[9], later[5])
}

// writeToEachOther lets the wallets of tor.mjs use both relays, and kills far when they
// ask for it.
func writeToEachOther(t *testing.T, near, far torMailbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, program(t, "node"), "tor.mjs")
	node.Env = append(os.Environ(), "ANNS_RELAY="+near.URL, "BOBS_RELAY="+far.URL)
	wrong := &output{}
	node.Stderr = wrong
	goOn, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	crashes := 0
	for lines := bufio.NewScanner(says); lines.Scan(); crashes++ {
		far.kill(t)
		far.start(t)
		io.WriteString(goOn, "\n")
	}
	if err := node.Wait(); err != nil || crashes != 1 {
		t.Errorf("tor.mjs, after %d crashes: %v\n%s\n%s\n%s", crashes, err, wrong, near.log, far.log)
	}
}
