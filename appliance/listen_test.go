package appliance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/source"
)

func TestASocketIsOpenToThoseItSays(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o660, 0o666} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := bindSocket(path, mode, "")
		if err != nil {
			t.Fatal(err)
		}
		at, err := os.Lstat(path)
		if err != nil || at.Mode() != os.ModeSocket|mode {
			t.Errorf("mode %v, %v; want %v", at.Mode(), err, mode)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("closed, and still there: %v", err)
		}
	}
}

func TestOnlyASocketThatNobodyAnswersMakesWay(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  func(t testing.TB, path string)
		want string // of the error; "" for none
	}{
		{"nothing", func(testing.TB, string) {}, ""},
		{"left behind", func(t testing.TB, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		}, ""},
		{"answered", func(t testing.TB, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "somebody listens there already"},
		{"a file", func(t testing.TB, path string) {
			if err := os.WriteFile(path, []byte("mail"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "something else than a socket"},
		{"a folder", func(t testing.TB, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "something else than a socket"},
		{"a link", func(t testing.TB, path string) {
			if err := os.Symlink(filepath.Dir(path), path); err != nil {
				t.Fatal(err)
			}
		}, "something else than a socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			tt.put(t, path)
			l, err := bindSocket(path, 0o600, "")
			if err == nil {
				l.Close()
			} else if _, err := os.Lstat(path); err != nil {
				t.Errorf("it is gone: %v", err)
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("bindSocket = %v, want %q", err, tt.want)
			}
		})
	}
}

// v2 is a PROXY header of version 2 for a TCP connection between two addresses,
// written from the specification.
func v2(command byte, from, to netip.AddrPort, tlv ...byte) string {
	var b bytes.Buffer
	b.WriteString("\r\n\r\n\x00\r\nQUIT\n")
	b.WriteByte(0x20 | command)
	family := byte(0x11)
	if from.Addr().Is6() {
		family = 0x21
	}
	b.WriteByte(family)
	addresses := append(from.Addr().AsSlice(), to.Addr().AsSlice()...)
	binary.Write(&b, binary.BigEndian, uint16(len(addresses)+4+len(tlv)))
	b.Write(addresses)
	binary.Write(&b, binary.BigEndian, []uint16{from.Port(), to.Port()})
	b.Write(tlv)
	return b.String()
}

func TestIntroductions(t *testing.T) {
	client4, client6 := netip.MustParseAddrPort("203.0.113.9:4000"), netip.MustParseAddrPort("[2001:db8::9]:4000")
	relay4, relay6 := netip.MustParseAddrPort("203.0.113.1:80"), netip.MustParseAddrPort("[2001:db8::1]:80")
	const trusted, untrusted, none = "127.0.0.0/8", "10.0.0.0/8", ""
	for _, tt := range []struct {
		name, proxies, header string
		want                  string // the source; "" when the connection just ends
	}{
		{"v1", trusted, "PROXY TCP4 203.0.113.9 203.0.113.1 4000 80\r\n", "203.0.113.9/32"},
		{"v1, IPv6", trusted, "PROXY TCP6 2001:db8::9 2001:db8::1 4000 80\r\n", "2001:db8::/64"},
		{"v1, unknown", trusted, "PROXY UNKNOWN\r\n", "tcp"},
		{"v2", trusted, v2(1, client4, relay4), "203.0.113.9/32"},
		{"v2, IPv6 and more", trusted, v2(1, client6, relay6, 4, 0, 1, 'x'), "2001:db8::/64"},
		{"v2, the proxy itself", trusted, v2(0, client4, relay4), "tcp"},
		{"on a Unix socket", none, v2(1, client4, relay4), "203.0.113.9/32"},
		{"of a stranger without one", untrusted, "", "tcp"},

		{"missing", trusted, "", ""},
		{"missing on a Unix socket", none, "", ""},
		{"of a stranger", untrusted, "PROXY TCP4 203.0.113.9 203.0.113.1 4000 80\r\n", ""},
		{"a stranger's v2", untrusted, v2(1, client4, relay4), ""},
		{"malformed", trusted, "PROXY TCP4 203.0.113.9\r\n", ""},
		{"another version", trusted, strings.Replace(v2(1, client4, relay4), "\x21", "\x31", 1), ""},
		{"without an end", trusted, "PROXY TCP4 " + strings.Repeat("2", 200), ""},
		{"over-long", trusted, v2(1, client4, relay4, make([]byte, 5000)...), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			network, address := "tcp", "127.0.0.1:0"
			if tt.proxies == none {
				network, address = "unix", filepath.Join(t.TempDir(), "s")
			}
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			rules := &source.Rules{IPv6Bits: 64}
			way := entrance{introduced(stallListener{l, stallAfter}), source.Entrance{Name: "tcp", Trust: source.TrustNobody}}
			if tt.proxies != none {
				rules.Proxies = []netip.Prefix{netip.MustParsePrefix(tt.proxies)}
				way.Listener = introducedByProxies(stallListener{l, stallAfter}, rules.Proxies)
			}
			server := &http.Server{
				BaseContext: func(net.Listener) context.Context { return way.Context(t.Context()) },
				Handler: source.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, source.Of(r).Name())
				}), rules),
			}
			go server.Serve(way)
			defer server.Close()

			conn, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// A forwarding header says nothing here.
			fmt.Fprint(conn, tt.header+"GET / HTTP/1.1\r\nHost: relay\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if tt.want == "" {
				if err == nil && answer.StatusCode == http.StatusOK {
					t.Error("it was answered")
				}
				return
			}
			if got := body(answer, err); got != tt.want {
				t.Errorf("source %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAProxyThatIntroducesNobodyIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		l := introduced(single{conn: here})
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		if _, err := conn.Read(make([]byte, 1)); err == nil || time.Since(began) != introductionTime {
			t.Errorf("Read = %v after %v, want an error after %v", err, time.Since(began), introductionTime)
		}
	})
}

// single accepts one connection.
type single struct {
	net.Listener
	conn net.Conn
}

func (s single) Accept() (net.Conn, error) { return s.conn, nil }
