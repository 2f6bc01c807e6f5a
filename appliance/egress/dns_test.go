package egress_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdmail/holdmail/appliance/egress"
)

// names is a resolver that this program asks instead of the machine's, and that
// remembers what it was asked.
type names struct {
	known map[string][]string // name -> addresses

	mu    sync.Mutex // guards asked
	asked []string
}

// resolve makes a resolver the program's, until the test ends.
func resolve(t testing.TB, known map[string][]string) *names {
	t.Helper()
	n := &names{known: known}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	g.Go(func() { n.serve(conn) })
	machines := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = machines; conn.Close(); g.Wait() })
	return n
}

func (n *names) serve(conn net.PacketConn) {
	for {
		packet := make([]byte, 1<<10)
		size, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		if answer, err := n.answer(m).Pack(); err == nil {
			conn.WriteTo(answer, from)
		}
	}
}

func (n *names) answer(m dnsmessage.Message) *dnsmessage.Message {
	question := m.Questions[0]
	name := strings.TrimSuffix(question.Name.String(), ".")
	n.mu.Lock()
	n.asked = append(n.asked, name)
	n.mu.Unlock()
	a := &dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
	addresses, ok := n.known[name]
	if !ok {
		a.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addresses {
		ip := netip.MustParseAddr(text)
		head := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}
		switch {
		case ip.Is4() && question.Type == dnsmessage.TypeA:
			a.Answers = append(a.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && question.Type == dnsmessage.TypeAAAA:
			a.Answers = append(a.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	return a
}

// A public name may lead to a private address, by its owner's will. A stranger is told
// the same of it as of one that leads nowhere.
func TestNamesThatLeadToPrivateAddresses(t *testing.T) {
	_, port, err := net.SplitHostPort(listen(t, func(net.Conn) { t.Error("a private address was dialled") }))
	if err != nil {
		t.Fatal(err)
	}
	resolve(t, map[string][]string{
		"127.0.0.1.nip.example": {"127.0.0.1"}, "six.example": {"::1"}, "mapped.example": {"::ffff:127.0.0.1"},
		"both.example": {"127.0.0.1", "::1", "10.0.0.1"}, "metadata.example": {"169.254.169.254"},
	})
	c := egress.NewCourier(egress.Options{Clearnet: patient})
	for _, host := range []string{"127.0.0.1.nip.example", "six.example", "mapped.example", "both.example", "metadata.example", "nobody.example"} {
		_, err := send(t, c, "https://"+host+":"+port)
		wantFailure(t, err, egress.Host, "the endpoint's host has no address that this relay delivers to")
		if strings.Contains(err.Error(), host) {
			t.Errorf("the log would tell the name: %v", err)
		}
	}
}

func TestNamesThatNobodyHas(t *testing.T) {
	n := resolve(t, nil)
	_, err := send(t, egress.NewCourier(egress.Options{Private: true, Clearnet: patient}), "https://nobody.example")
	wantFailure(t, err, egress.Name, "the endpoint's host is not known by that name")
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.asked, "nobody.example") {
		t.Errorf("the resolver was asked %q", n.asked)
	}
}

func TestNoOnionServiceIsLookedUpHere(t *testing.T) {
	n := resolve(t, nil)
	proxies := map[string]string{"none": "", "not there": nobody, "there": listen(t, func(conn net.Conn) {
		if _, err := socks(conn); err == nil {
			reply(conn, 0xF6)
		}
	})}
	for name, proxy := range proxies {
		c := egress.NewCourier(egress.Options{Proxy: proxy, Private: true, Onion: patient})
		for _, host := range []string{onionName, "a.ONION.", "OnIoN", "x." + onionName, "a_b.onion"} {
			for _, scheme := range []string{"http://", "https://"} {
				if _, err := send(t, c, scheme+host); err == nil {
					t.Errorf("proxy %s: %s was reached", name, host)
				} else if _, ok := errors.AsType[*egress.Failure](err); !ok && !errors.Is(err, egress.ErrEndpoint) {
					t.Errorf("proxy %s: %s: %v", name, host, err)
				}
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.asked) != 0 {
		t.Errorf("the resolver was asked %q", n.asked)
	}
}
