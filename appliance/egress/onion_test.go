package egress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/egress"
)

// Names that are nobody's services.
const (
	onionName  = "p4ok4vrjjwqgb5ygu6udij3x6fdpmhwmtdmicvmxd2aqaxff5xzyqoqd.onion"
	otherOnion = "3euyuegrwbzvqn64jpmf3ldedmhtz3zhur7f2u5fj4xt6wzpz75mkmid.onion"
)

// asked is what a client asks a SOCKS5 proxy for.
type asked struct{ user, password, host, port string }

// socks shakes hands with a client, as a proxy that wants a user, and returns what
// it asks for. The reply is still to be sent.
func socks(conn net.Conn) (a asked, err error) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(conn, b)
		}
		return b
	}
	text := func() string { return string(read(int(read(1)[0]))) }
	read(int(read(2)[1]))
	conn.Write([]byte{5, 2})
	read(1)
	a.user, a.password = text(), text()
	conn.Write([]byte{1, 0})
	if head := read(4); err == nil && !bytes.Equal(head, []byte{5, 1, 0, 3}) {
		err = fmt.Errorf("asked for %x, and not for a connection to a name", head)
	}
	a.host = text()
	port := read(2)
	a.port = strconv.Itoa(int(port[0])<<8 | int(port[1]))
	return a, err
}

// reply answers with a code.
func reply(conn net.Conn, code byte) { conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}) }

// socksTo is a proxy that leads to one service by whatever name, and tells what it
// was asked for.
func socksTo(t testing.TB, service string) (address string, seen chan asked) {
	t.Helper()
	seen = make(chan asked, 10)
	return listen(t, func(conn net.Conn) {
		a, err := socks(conn)
		if err != nil {
			t.Error(err)
			return
		}
		seen <- a
		onward, err := net.Dial("tcp", service)
		if err != nil {
			t.Error(err)
			return
		}
		defer onward.Close()
		reply(conn, 0)
		go func() { io.Copy(onward, conn); onward.Close() }()
		io.Copy(conn, onward)
	}), seen
}

func TestOnionServicesAreReachedByTheProxyAlone(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Host, r.RequestURI, string(body))
	}))
	t.Cleanup(service.Close)
	proxy, seen := socksTo(t, strings.TrimPrefix(service.URL, "http://"))
	c := egress.NewCourier(egress.Options{Proxy: proxy, Onion: patient})
	for _, tt := range []struct{ url, host, port, answer string }{
		{"http://" + onionName + "/didcomm", onionName, "80", onionName + "/didcommsealed"},
		{"http://" + strings.ToUpper(onionName) + ".:8080", onionName, "8080", onionName + ":8080/sealed"},
		{"http://mail." + onionName, "mail." + onionName, "80", "mail." + onionName + "/sealed"},
	} {
		answer, err := send(t, c, tt.url)
		if err != nil || string(answer) != tt.answer {
			t.Errorf("%s: %q, %v; want %q", tt.url, answer, err, tt.answer)
		}
		if got := <-seen; got.host != tt.host || got.port != tt.port {
			t.Errorf("%s: the proxy was asked for %s:%s", tt.url, got.host, got.port)
		}
	}
}

func TestNamesThatNoOnionServiceHasDoNotReachTheProxy(t *testing.T) {
	proxied := egress.NewCourier(egress.Options{Onion: patient, Proxy: listen(t, func(net.Conn) { t.Error("the proxy was called") })})
	alone := egress.NewCourier(egress.Options{Onion: patient})
	for _, host := range []string{"onion", "abc.onion", "expyuzz4wqqyqhjn.onion", "o" + onionName[1:], onionName + ".onion", onionName[1:]} {
		if _, err := send(t, proxied, "http://"+host); !errors.Is(err, egress.ErrEndpoint) {
			t.Errorf("%s: %v, want ErrEndpoint", host, err)
		}
		_, err := send(t, alone, "http://"+host) // whatever the name (relay spec §2.7)
		wantFailure(t, err, egress.Proxy, "this relay has no proxy for onion services")
	}
}

func TestEveryDestinationHasCircuitsOfItsOwn(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(service.Close)
	proxy, seen := socksTo(t, strings.TrimPrefix(service.URL, "http://"))
	circuit := func(c *egress.Courier, host string) asked {
		if _, err := send(t, c, "http://"+host); err != nil {
			t.Fatal(err)
		}
		a := <-seen
		if a.user == "" || a.password == "" || strings.Contains(a.user+a.password, host) {
			t.Errorf("credentials for %s: %q", host, a)
		}
		return asked{user: a.user, password: a.password}
	}
	c := egress.NewCourier(egress.Options{Proxy: proxy, Onion: patient})
	first, other := circuit(c, onionName), circuit(c, otherOnion)
	if again := circuit(c, onionName); first != again || first == other {
		t.Errorf("one host: %v and %v; another: %v", first, again, other)
	}
	if run := circuit(egress.NewCourier(egress.Options{Proxy: proxy, Onion: patient}), onionName); run == first {
		t.Errorf("another run has the credentials of this one: %v", run)
	}
}

func TestAnOnionServiceMayHaveACertificate(t *testing.T) {
	ca := newAuthority(t)
	hello := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }
	own := serve(t, ca.issue(t, onionName, time.Now().Add(time.Hour)), hello)
	proxy, _ := socksTo(t, strings.TrimPrefix(own, "https://"))
	c := egress.NewCourier(egress.Options{Proxy: proxy, TLS: ca.trust(), Onion: patient})
	if answer, err := send(t, c, "https://"+onionName); err != nil || string(answer) != "hello" {
		t.Errorf("answer = %q, %v", answer, err)
	}
	_, err := send(t, c, "https://"+otherOnion)
	wantFailure(t, err, egress.TLS, "the endpoint's certificate is for another name")
}

func TestEveryCodeOfTheProxyIsToldInWords(t *testing.T) {
	known := map[byte]struct {
		party egress.Party
		words string
	}{
		0x01: {egress.Onion, "the onion service cannot be reached: the proxy does not say why"},
		0x02: {egress.Proxy, "the proxy for onion services refused: its rules forbid the connection"},
		0x03: {egress.Onion, "the onion service cannot be reached"},
		0x04: {egress.Onion, "the onion service cannot be reached"},
		0x05: {egress.Onion, "the onion service refused the connection"},
		0x06: {egress.Onion, "the onion service did not take a connection in time"},
		0x07: {egress.Proxy, "the proxy for onion services refused: it makes no connections"},
		0x08: {egress.Proxy, "the proxy for onion services refused: it takes no names"},
		0xF0: {egress.Onion, "the onion service cannot be reached: its descriptor was not found, it may be down"},
		0xF1: {egress.Onion, "the onion service cannot be reached: its descriptor is not valid"},
		0xF2: {egress.Onion, "the onion service cannot be reached: the introduction failed"},
		0xF3: {egress.Onion, "the onion service cannot be reached: the rendezvous failed"},
		0xF4: {egress.Onion, "the onion service cannot be reached: it wants a client authorization, and the proxy has none"},
		0xF5: {egress.Onion, "the onion service cannot be reached: it does not take the proxy's client authorization"},
		0xF6: {egress.Onion, "the onion service cannot be reached: its name is no onion service's"},
		0xF7: {egress.Onion, "the onion service cannot be reached: the introduction timed out"},
	}
	codes := make(chan byte, 1)
	c := egress.NewCourier(egress.Options{Onion: patient, Proxy: listen(t, func(conn net.Conn) {
		if _, err := socks(conn); err != nil {
			t.Error(err)
		}
		reply(conn, <-codes)
	})})
	for code := byte(1); code != 0; code++ {
		want, ok := known[code]
		if !ok {
			want.party, want.words = egress.Proxy, fmt.Sprintf("the proxy for onion services refused: it answered with the code %d", code)
		}
		codes <- code
		_, err := send(t, c, "http://"+onionName)
		wantFailure(t, err, want.party, want.words)
		if err != nil && strings.Contains(err.Error(), onionName) {
			t.Errorf("the log would tell the name: %v", err)
		}
	}
}

func TestProxiesThatDoNotDoTheirPart(t *testing.T) {
	const proxy = "the proxy for onion services "
	asks := func(answer string) string { // answers the first question
		return listen(t, func(conn net.Conn) {
			conn.Read(make([]byte, 64))
			io.WriteString(conn, answer)
			silence(conn)
		})
	}
	replies := func(answer string) string { // shakes hands first
		return listen(t, func(conn net.Conn) {
			if _, err := socks(conn); err != nil {
				t.Error(err)
			}
			io.WriteString(conn, answer)
			silence(conn)
		})
	}
	for name, tt := range map[string]struct {
		address string
		within  egress.Patience
		party   egress.Party
		words   string
	}{
		"none":                    {"", patient, egress.Proxy, "this relay has no proxy for onion services"},
		"not there":               {nobody, patient, egress.Proxy, proxy + "cannot be reached"},
		"hangs":                   {listen(t, silence), hasty, egress.Proxy, proxy + "did not answer in time"},
		"hangs after its hello":   {asks("\x05\x02"), hasty, egress.Onion, "the onion service was not reached in time"},
		"hangs before its reply":  {replies(""), hasty, egress.Onion, "the onion service was not reached in time"},
		"hangs amid its reply":    {replies("\x05\x00\x00\x03\xff"), hasty, egress.Onion, "the onion service was not reached in time"},
		"hangs up":                {listen(t, func(conn net.Conn) { conn.Read(make([]byte, 64)) }), patient, egress.Proxy, proxy + "hung up before it answered"},
		"speaks HTTP":             {asks("HTTP/1.1 400 Bad Request\r\n\r\n"), patient, egress.Proxy, proxy + "does not speak SOCKS5 as it should"},
		"speaks SOCKS4":           {asks("\x00\x5a"), patient, egress.Proxy, proxy + "does not speak SOCKS5 as it should"},
		"takes no authentication": {asks("\x05\xff"), patient, egress.Proxy, proxy + "refused: it wants another authentication"},
		"wants another":           {asks("\x05\x01"), patient, egress.Proxy, proxy + "refused: it wants another authentication"},
		"refuses the user":        {asks("\x05\x02\x01\x01"), patient, egress.Proxy, proxy + "refused: it wants another authentication"},
		"replies nonsense":        {replies("\x05\x00\x01\x07"), patient, egress.Proxy, proxy + "does not speak SOCKS5 as it should"},
		"says yes and hangs":      {replies("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"), hasty, egress.Relay, "the endpoint did not answer in time"},
		"says yes and talks":      {replies("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00SSH-2.0-x\r\n\r\n"), patient, egress.Relay, "the endpoint's answer is not HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := send(t, egress.NewCourier(egress.Options{Proxy: tt.address, Onion: tt.within}), "http://"+onionName)
			wantFailure(t, err, tt.party, tt.words)
		})
	}
}
