package pull_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdmail/holdmail/appliance/pull"
)

// network carries connections to one address, until it is another network: then those
// that are there stand still, as for a computer that was asleep.
type network struct {
	to   string
	gone atomic.Int64 // connections below this number are
	seen atomic.Int64
}

// listen returns where to connect to.
func (n *network) listen(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go n.carry(conn, n.seen.Add(1))
		}
	}()
	return l.Addr().String()
}

func (n *network) carry(conn net.Conn, number int64) {
	defer conn.Close()
	relay, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer relay.Close()
	go n.copy(relay, conn, number)
	n.copy(conn, relay, number)
}

// copy loses what comes once the connection is gone.
func (n *network) copy(to io.Writer, from io.Reader, number int64) {
	b := make([]byte, 4096)
	for {
		read, err := from.Read(b)
		if err != nil {
			return
		}
		if number <= n.gone.Load() {
			continue
		}
		if _, err := to.Write(b[:read]); err != nil {
			return
		}
	}
}

func TestAConnectionThatIsDeadAfterASleepIsLeft(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			relay := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != version {
					t.Errorf("called by HTTP/%d", r.ProtoMajor)
				}
				io.WriteString(w, `{}`)
			}))
			relay.EnableHTTP2 = version == 2
			relay.StartTLS()
			defer relay.Close()
			way := network{to: strings.TrimPrefix(relay.URL, "https://")}
			r, err := pull.NewRelay("https://"+way.listen(t), "token", "")
			if err != nil {
				t.Fatal(err)
			}
			r.Impatient(relay.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs)
			if _, err := r.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
			way.gone.Store(way.seen.Load())
			if _, err := r.Status(t.Context()); err == nil {
				t.Fatal("a status came over a dead connection")
			}
			eventually(t, "it is called over another connection", func() bool {
				_, err := r.Status(t.Context())
				return err == nil
			})
		})
	}
}
