package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// onionName is nobody's service.
const onionName = "p4ok4vrjjwqgb5ygu6udij3x6fdpmhwmtdmicvmxd2aqaxff5xzyqoqd.onion"

// startSOCKS is a proxy that leads every name to service, or, where that is "",
// answers as Tor does for a service that is down. It tells the names.
func startSOCKS(t testing.TB, service string) (address string, names chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	names = make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSOCKS(conn, service, names)
		}
	}()
	return l.Addr().String(), names
}

func serveSOCKS(conn net.Conn, service string, names chan<- string) {
	defer conn.Close()
	read := func(n byte) []byte {
		b := make([]byte, n)
		io.ReadFull(conn, b)
		return b
	}
	read(read(2)[1]) // the ways to prove who one is
	conn.Write([]byte{5, 2})
	read(read(2)[1]) // user
	read(read(1)[0]) // password
	conn.Write([]byte{1, 0})
	names <- string(read(read(5)[4]))
	read(2) // port
	if service == "" {
		conn.Write([]byte{5, 0xF0, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	onward, err := net.Dial("tcp", service)
	if err != nil {
		return
	}
	defer onward.Close()
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() { io.Copy(onward, conn); onward.Close() }()
	io.Copy(conn, onward)
}

func TestMailForAnOnionServiceGoesByTheProxy(t *testing.T) {
	t.Parallel()
	far := startRelay(t)
	proxy, names := startSOCKS(t, strings.TrimPrefix(far.URL, "http://"))
	near := startRelay(t, "ARCHON_DIDCOMM_TOR_PROXY="+proxy, "HOLDMAIL_DELIVER_PRIVATE=off")
	ann, bob := newWallet(t), newWallet(t)
	packed := envelope(700, "x", bob)
	wantType(t, near.deliver(t, ann, "http://"+onionName+"/didcomm", packed), http.StatusOK)
	if got := <-names; got != onionName {
		t.Errorf("the proxy was asked for %q", got)
	}
	wantMail(t, far, bob, string(packed))

	down, _ := startSOCKS(t, "")
	cut := startRelay(t, "ARCHON_DIDCOMM_TOR_PROXY="+down)
	said := wantRefusal(t, cut.deliver(t, ann, "http://"+onionName, packed), http.StatusBadGateway)
	if said != "the onion service cannot be reached: its descriptor was not found, it may be down" {
		t.Errorf("of a service that is down: %q", said)
	}
	eventually(t, 10*time.Second, func() (bool, string) { // the line comes after the answer
		return strings.Contains(cut.log.String(), said), cut.log.String()
	})
	if strings.Contains(cut.log.String(), onionName) {
		t.Errorf("the log tells the name:\n%s", cut.log)
	}
}

// What reaches a Redis is no command, whatever the caller makes of its body.
func TestNoCommandReachesRedis(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	redis := exec.CommandContext(t.Context(), program(t, "redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	redis.Dir = t.TempDir()
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Process.Kill(); redis.Wait() })
	var conn net.Conn
	eventually(t, 10*time.Second, func() (ok bool, reason string) {
		var err error
		conn, err = net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil, "redis does not listen"
	})
	defer conn.Close()

	near := startRelay(t)
	ann := newWallet(t)
	packed := fmt.Appendf(nil, "\r\n%s\r\n", envelope(700, "SET owned yes", ann))
	wantRefusal(t, near.deliver(t, ann, "https://127.0.0.1:"+port+"/SET", packed), http.StatusBadGateway)
	wantRefusal(t, near.deliver(t, ann, "http://127.0.0.1:"+port, packed), http.StatusBadRequest)

	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "INFO stats\r\nQUIT\r\n")
	stats, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"total_connections_received:2\r\n", "total_commands_processed:0\r\n"} {
		if !strings.Contains(string(stats), want) {
			t.Errorf("redis has no %q:\n%s", want, stats)
		}
	}
}
