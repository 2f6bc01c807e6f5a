package pull_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/pull"
)

// socks is a SOCKS5 proxy (RFC 1928) that connects all names to one address, and
// tells which were asked for.
func socks(t testing.TB, to string) (address string, names chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	names = make(chan string, 16)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if name, err := asked(conn); err == nil {
					names <- name
					connect(conn, to)
				}
			}()
		}
	}()
	return l.Addr().String(), names
}

// asked reads what a client wants to connect to: a name and a port.
func asked(conn net.Conn) (name string, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", err
	}
	if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil { // its methods
		return "", err
	}
	conn.Write([]byte{5, 0})
	ask := make([]byte, 5)
	if _, err := io.ReadFull(conn, ask); err != nil {
		return "", err
	}
	if ask[3] != 3 {
		return "", fmt.Errorf("an address of kind %d, and no name", ask[3])
	}
	rest := make([]byte, int(ask[4])+2)
	_, err = io.ReadFull(conn, rest)
	return fmt.Sprintf("%s:%d", rest[:ask[4]], binary.BigEndian.Uint16(rest[ask[4]:])), err
}

func connect(conn net.Conn, to string) {
	relay, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer relay.Close()
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() {
		io.Copy(relay, conn)
		relay.Close()
	}()
	io.Copy(conn, relay)
}

func TestAnOnionRelayIsCalledThroughTheProxy(t *testing.T) {
	h := newHome(t)
	proxy, names := socks(t, strings.TrimPrefix(h.relay.url, "http://"))
	h.relay.put(h.sealed("d1", h.now, post("x")))
	p, l := h.open(h.handler)
	defer l.Close()
	onion := strings.Repeat("a", 56) + ".onion"
	r, err := pull.NewRelay("http://"+onion, h.key.Token(), proxy)
	if err != nil {
		t.Fatal(err)
	}
	p.Relay, p.Once = r, true
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wants("d1", "d1")
	if got, want := <-names, onion+":80"; got != want {
		t.Errorf("the proxy was asked for %s, want %s", got, want)
	}
}
