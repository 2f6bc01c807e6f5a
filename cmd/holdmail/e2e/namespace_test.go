package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// network is two machines on a cable of their own, with nothing else on it: the
// relay's, and one of callers that has many addresses. Both end with the test.
type network struct{ relay, callers string }

func newNetwork(t testing.TB) network {
	t.Helper()
	n := network{fmt.Sprintf("holdmail-r-%d", os.Getpid()), fmt.Sprintf("holdmail-c-%d", os.Getpid())}
	for _, name := range []string{n.relay, n.callers} {
		mustIP(t, "netns", "add", name)
		t.Cleanup(func() { mustIP(t, "netns", "delete", name) })
		mustIP(t, "-n", name, "link", "set", "lo", "up")
	}
	mustIP(t, "link", "add", "cable", "netns", n.relay, "type", "veth", "peer", "name", "cable", "netns", n.callers)
	mustIP(t, "-n", n.relay, "link", "set", "cable", "up")
	mustIP(t, "-n", n.callers, "link", "set", "cable", "up")
	return n
}

func mustIP(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// address gives a machine an address.
func address(t testing.TB, machine, cidr string) {
	t.Helper()
	args := []string{"-n", machine, "address", "add", cidr, "dev", "cable"}
	if strings.Contains(cidr, ":") {
		args = append(args, "nodad") // or it would not be there for a second
	}
	mustIP(t, args...)
}

// dial connects from the callers' machine, from one of its addresses. A network
// namespace belongs to a thread, and a socket to the one it was made in.
func (n network) dial(ctx context.Context, from, to string) (conn net.Conn, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // the thread must live: it may be the parent of a relay
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer home.Close()
	machine, err := os.Open(filepath.Join("/var/run/netns", n.callers))
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	if err := unix.Setns(int(machine.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("entering %s: %w", n.callers, err)
	}
	defer func() {
		if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(fmt.Sprintf("a thread is lost in %s: %v", n.callers, err))
		}
	}()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return dialer.DialContext(ctx, "tcp", to)
}

// client makes calls from one address of the callers' machine.
func (n network) client(from string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, to string) (conn net.Conn, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err = n.dial(ctx, from, to)
			}()
			<-done
			return conn, err
		},
	}}
}

func TestSourcesAreToldApartByTheirAddresses(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	for _, cidr := range []string{"203.0.113.1/24", "192.168.9.1/24", "2001:db8::1/32"} {
		address(t, n.relay, cidr)
	}
	callers := []string{"203.0.113.7", "203.0.113.8", "192.168.9.7",
		"2001:db8:1:7::1", "2001:db8:1:7::2", "2001:db8:1:8::1", "2001:db8:1:9::1", "2001:db8:1:a::1", "2001:db8:1:b::1", "2001:db8:2::1"}
	for _, c := range callers {
		width := "/24"
		if strings.Contains(c, ":") {
			width = "/32"
		}
		address(t, n.callers, c+width)
	}
	r := newRelay(t, "ARCHON_BIND_ADDRESS=::", "HOLDMAIL_RATE_LIMIT=on",
		"ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=2", "ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=3600")
	r.Run = slices.Concat([]string{"ip", "netns", "exec", n.relay}, r.Run)
	port := r.URL[strings.LastIndex(r.URL, ":"):]
	r.URL, r.client = "http://192.168.9.1"+port, n.client("192.168.9.7")
	r.start(t)

	ask := func(from string) error {
		r.client, r.URL = n.client(from), "http://203.0.113.1"+port
		switch {
		case strings.Contains(from, ":"):
			r.URL = "http://[2001:db8::1]" + port
		case strings.HasPrefix(from, "192."):
			r.URL = "http://192.168.9.1" + port
		}
		_, err := r.challenge()
		return err
	}
	twice := func(from string) {
		t.Helper()
		for range 2 {
			if err := ask(from); err != nil {
				t.Errorf("from %s: %v", from, err)
			}
		}
	}
	refused := func(from, why string) {
		t.Helper()
		var no *refusal
		if err := ask(from); !errors.As(err, &no) || no.Status != http.StatusTooManyRequests {
			t.Errorf("from %s: %v; want 429, %s", from, err, why)
		}
	}
	twice("203.0.113.7")
	refused("203.0.113.7", "its budget is spent")
	twice("203.0.113.8")
	for range 5 {
		twice("192.168.9.7") // identifies nobody
	}
	twice("2001:db8:1:7::1")
	refused("2001:db8:1:7::2", "it is the same /64")
	twice("2001:db8:1:8::1")
	twice("2001:db8:1:9::1")
	twice("2001:db8:1:a::1")
	refused("2001:db8:1:b::1", "the /48 has four times the budget of one")
	twice("2001:db8:2::1")
}
