package source_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/source"
)

func rules(proxies ...string) *source.Rules {
	r := &source.Rules{Header: source.ForwardedFor, IPv6Bits: 64, Log: slog.New(slog.DiscardHandler)}
	for _, p := range proxies {
		r.Proxies = append(r.Proxies, netip.MustParsePrefix(p))
	}
	return r
}

// call is a request from a peer, with headers as name, value, name, value.
func call(way source.Entrance, peer string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r = r.WithContext(way.Context(r.Context()))
	r.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func identify(rules *source.Rules, r *http.Request) (found source.Source) {
	source.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		found = source.Of(r)
	}), rules).ServeHTTP(nil, r)
	return found
}

func tcp() source.Entrance { return source.Entrance{Name: "tcp"} }

func TestWhatAnAddressIdentifies(t *testing.T) {
	for _, tt := range []struct{ address, key, ceiling string }{
		{"203.0.113.9", "203.0.113.9/32", ""},
		{"::ffff:203.0.113.9", "203.0.113.9/32", ""},
		{"64:ff9b::203.0.113.9", "203.0.113.9/32", ""},
		{"::ffff:0:203.0.113.9", "203.0.113.9/32", ""},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"2002:cb00:7109:1::1", "2002:cb00:7109:1::/64", "2002:cb00:7109::/48"},
		{"172.15.255.255", "172.15.255.255/32", ""},
		{"172.32.0.0", "172.32.0.0/32", ""},
		{"100.63.255.255", "100.63.255.255/32", ""},
		{"100.128.0.0", "100.128.0.0/32", ""},
		{"fe00::1", "fe00::/64", "fe00::/48"},

		{"127.0.0.1", "", ""}, {"127.255.0.3", "", ""}, {"::1", "", ""}, {"::ffff:127.0.0.1", "", ""},
		{"10.0.0.1", "", ""}, {"172.16.0.1", "", ""}, {"172.31.255.255", "", ""}, {"192.168.1.1", "", ""},
		{"::ffff:10.0.0.1", "", ""}, {"::ffff:172.16.0.1", "", ""}, {"::ffff:192.168.1.1", "", ""},
		{"169.254.1.1", "", ""}, {"::ffff:169.254.1.1", "", ""},
		{"fe80::1", "", ""}, {"fe80::1%eth0", "", ""}, {"febf::1", "", ""}, {"fec0::1", "", ""},
		{"fc00::1", "", ""}, {"fdff::1", "", ""},
		{"100.64.0.1", "", ""}, {"100.127.255.255", "", ""}, {"::ffff:100.64.0.1", "", ""},
		{"0.0.0.0", "", ""}, {"::", "", ""}, {"::ffff:0.0.0.0", "", ""}, {"::203.0.113.9", "", ""},
		{"64:ff9b::10.0.0.1", "", ""}, {"64:ff9b:1::203.0.113.9", "", ""}, {"2001:0:cb00:7109::1", "", ""},
		{"192.0.0.2", "", ""}, {"224.0.0.1", "", ""}, {"ff02::1", "", ""}, {"255.255.255.255", "", ""},
	} {
		t.Run(tt.address, func(t *testing.T) {
			got := identify(rules(), call(tcp(), netip.AddrPortFrom(netip.MustParseAddr(tt.address), 4000).String()))
			var key, ceiling string
			if got.Key.IsValid() {
				key = got.Key.String()
			}
			if got.Ceiling.IsValid() {
				ceiling = got.Ceiling.String()
			}
			if key != tt.key || ceiling != tt.ceiling || got.Known() != (tt.key != "") {
				t.Errorf("key %q, ceiling %q; want %q, %q", key, ceiling, tt.key, tt.ceiling)
			}
		})
	}
}

func TestTheWidthOfAnIPv6Client(t *testing.T) {
	r := rules()
	r.IPv6Bits = 56
	got := identify(r, call(tcp(), "[2001:db8:1:234::5]:1"))
	if want := "2001:db8:1:200::/56"; got.Name() != want {
		t.Errorf("key %s, want %s", got.Name(), want)
	}
}

func TestPeersOfOneCustomerAreOne(t *testing.T) {
	r := rules("203.0.113.7/32")
	for remote, want := range map[string]string{
		"[2001:db8:1:2::3]:4000": "2001:db8:1::/48",
		"[2001:db8:1:3::3]:4000": "2001:db8:1::/48",
		"203.0.113.9:4000":       "203.0.113.9/32",
		"203.0.113.7:4000":       "", // a proxy
		"10.0.0.1:4000":          "",
	} {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote))
		if got := r.Peer(at); got != want {
			t.Errorf("Peer(%s) = %q, want %q", remote, got, want)
		}
	}
}

func TestForwardingHeaders(t *testing.T) {
	const proxy = "10.0.0.1:999" // trusted, as are all of 10.0.0.0/8
	long := strings.Repeat("198.51.100.7, ", 2000)
	for _, tt := range []struct {
		name, peer string
		want       string // the source's name
		headers    []string
	}{
		{"one proxy", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "203.0.113.9"}},
		{"a port", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "203.0.113.9:4000"}},
		{"IPv6", proxy, "2001:db8::/64", []string{"X-Forwarded-For", "2001:db8::9"}},
		{"IPv6 in brackets", proxy, "2001:db8::/64", []string{"X-Forwarded-For", "[2001:db8::9]"}},
		{"IPv6 and a port", proxy, "2001:db8::/64", []string{"X-Forwarded-For", "[2001:db8::9]:4000"}},
		{"IPv4-mapped", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "::ffff:203.0.113.9"}},
		{"proxies in a row", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "203.0.113.9, 10.2.0.1,10.3.0.1"}},
		{"an empty entry is none", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "203.0.113.9, ,"}},

		{"a stranger's header", "198.51.100.1:1", "198.51.100.1/32", []string{"X-Forwarded-For", "203.0.113.9"}},
		{"a private stranger's header", "192.168.1.1:1", "tcp", []string{"X-Forwarded-For", "203.0.113.9"}},
		{"spoofed on the left", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "198.51.100.7, 203.0.113.9"}},
		{"spoofed as a proxy", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "10.9.9.9, 203.0.113.9"}},
		{"a line of the client's own", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", "203.0.113.9"}},
		{"nonsense on the left", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", "\"'; drop, 203.0.113.9"}},
		{"over-long on the left", proxy, "203.0.113.9/32", []string{"X-Forwarded-For", long + "203.0.113.9"}},

		{"nothing told", proxy, "tcp", nil},
		{"empty", proxy, "tcp", []string{"X-Forwarded-For", ""}},
		{"only proxies", proxy, "tcp", []string{"X-Forwarded-For", "10.0.0.2"}},
		{"a private client", proxy, "tcp", []string{"X-Forwarded-For", "192.168.1.7"}},
		{"no address", proxy, "tcp", []string{"X-Forwarded-For", "unknown"}},
		{"nonsense on the right", proxy, "tcp", []string{"X-Forwarded-For", "203.0.113.9, x"}},
		{"a zone", proxy, "tcp", []string{"X-Forwarded-For", "2001:db8::1%eth0"}},
		{"an over-long entry", proxy, "tcp", []string{"X-Forwarded-For", strings.Repeat("0", 100) + "203.0.113.9"}},
		{"an open bracket", proxy, "tcp", []string{"X-Forwarded-For", "[2001:db8::1"}},
		{"IPv4 in brackets", proxy, "tcp", []string{"X-Forwarded-For", "[203.0.113.9]"}},
		{"too many proxies", proxy, "tcp", []string{"X-Forwarded-For", "203.0.113.9" + strings.Repeat(", 10.0.0.2", 17)}},

		{"Forwarded", proxy, "203.0.113.9/32", []string{"Forwarded", "for=203.0.113.9"}},
		{"Forwarded, all of it", proxy, "203.0.113.9/32", []string{"Forwarded", `proto=https;For="203.0.113.9:_port";by=10.0.0.1`, "Forwarded", `by=10.0.0.1; FOR="203.0.113.9:81" ;host="a;for=1.1.1.1,b\""`}},
		{"Forwarded, IPv6", proxy, "2001:db8::/64", []string{"Forwarded", `for="[2001:db8::9]:4711"`}},
		{"Forwarded, proxies in a row", proxy, "203.0.113.9/32", []string{"Forwarded", `for=203.0.113.9, for=10.0.0.2;by="x,y"`}},
		{"Forwarded, an open quote on the left", proxy, "203.0.113.9/32", []string{"Forwarded", `for="evil, for=203.0.113.9`}},
		{"Forwarded, spoofed", proxy, "203.0.113.9/32", []string{"Forwarded", `for=198.51.100.7, for="203.0.113.9"`}},
		{"Forwarded, unknown", proxy, "tcp", []string{"Forwarded", "for=203.0.113.9, for=unknown"}},
		{"Forwarded, hidden", proxy, "tcp", []string{"Forwarded", "for=_gazonk"}},
		{"Forwarded, for twice", proxy, "tcp", []string{"Forwarded", "for=203.0.113.9;for=203.0.113.9"}},
		{"Forwarded, no for", proxy, "tcp", []string{"Forwarded", "by=203.0.113.9"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rules("10.0.0.0/8")
			if len(tt.headers) > 0 && tt.headers[0] == "Forwarded" {
				r.Header = source.Forwarded
			}
			if got := identify(r, call(tcp(), tt.peer, tt.headers...)); got.Name() != tt.want {
				t.Errorf("source %s, want %s", got.Name(), tt.want)
			}
		})
	}
}

// A client cannot get rid of its source by sending the header that its proxy does not
// set: the budgets of nobody are wider than its own.
func TestTheOtherHeaderIsNotRead(t *testing.T) {
	for _, tt := range []struct {
		name         string
		header       source.Header
		xff, another string
		want         string
	}{
		{"another client", source.ForwardedFor, "203.0.113.9", "for=1.1.1.1", "203.0.113.9/32"},
		{"nonsense", source.ForwardedFor, "203.0.113.9", "for=_x", "203.0.113.9/32"},
		{"empty", source.ForwardedFor, "203.0.113.9", "", "203.0.113.9/32"},
		{"another client, the other way round", source.Forwarded, "1.1.1.1", "for=203.0.113.9", "203.0.113.9/32"},
		{"nonsense, the other way round", source.Forwarded, "x", "for=203.0.113.9", "203.0.113.9/32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rules("10.0.0.0/8")
			r.Header = tt.header
			got := identify(r, call(tcp(), "10.0.0.1:9", "X-Forwarded-For", tt.xff, "Forwarded", tt.another))
			if got.Name() != tt.want {
				t.Errorf("source %s, want %s", got.Name(), tt.want)
			}
		})
	}
}

func TestAProxyThatSetsTheOtherHeaderIsToldOfOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"the other alone", []string{"Forwarded", "for=203.0.113.9"}, 1},
		{"both", []string{"X-Forwarded-For", "203.0.113.9", "Forwarded", "for=1.1.1.1"}, 0},
		{"the one", []string{"X-Forwarded-For", "203.0.113.9"}, 0},
		{"none", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			r := rules("10.0.0.0/8")
			r.Log = slog.New(slog.NewTextHandler(&out, nil))
			for range 3 {
				identify(r, call(tcp(), "10.0.0.1:9", tt.headers...))
			}
			if got := strings.Count(out.String(), "HOLDMAIL_FORWARDING_HEADER"); got != tt.want {
				t.Errorf("%d warnings, want %d:\n%s", got, tt.want, &out)
			}
		})
	}
}

func TestATrustedProxyIsNoClient(t *testing.T) {
	if got := identify(rules("203.0.113.0/24"), call(tcp(), "203.0.113.1:9")); got.Known() || got.Addr.String() != "203.0.113.1" {
		t.Errorf("source %+v, want an address that identifies nobody", got)
	}
}

func TestEntrances(t *testing.T) {
	for _, tt := range []struct {
		name string
		way  source.Entrance
		peer string
		want string
	}{
		{"a Unix socket", source.Entrance{Name: "unix"}, "@", "unix"},
		{"one for proxies alone", source.Entrance{Name: "unix", Trust: source.TrustAll}, "@", "203.0.113.9/32"},
		{"one whose connections tell", source.Entrance{Name: "tcp", Trust: source.TrustNobody}, "10.0.0.1:9", "tcp"},
		{"of a client whose connection tells", source.Entrance{Name: "tcp", Trust: source.TrustNobody}, "198.51.100.7:9", "198.51.100.7/32"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := identify(rules("10.0.0.0/8"), call(tt.way, tt.peer, "X-Forwarded-For", "203.0.113.9"))
			if got.Name() != tt.want || got.Entrance != tt.way.Name {
				t.Errorf("source %s by %s, want %s", got.Name(), got.Entrance, tt.want)
			}
		})
	}
}

func TestAProxyThatIsNotTrustedIsToldOfOnce(t *testing.T) {
	for _, tt := range []struct {
		name, peer string
		header     string
		proxies    []string
		want       int
	}{
		{"private peer", "192.168.1.1:1", "X-Forwarded-For", nil, 1},
		{"the other header", "[fe80::1%eth0]:1", "Forwarded", nil, 1},
		{"Unix socket", "@", "Forwarded", nil, 1},
		{"no such header", "192.168.1.1:1", "X-Real-Ip", nil, 0},
		{"public peer", "203.0.113.9:1", "X-Forwarded-For", nil, 0},
		{"proxies are known", "192.168.1.1:1", "X-Forwarded-For", []string{"10.0.0.0/8"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			r := rules(tt.proxies...)
			r.Log = slog.New(slog.NewTextHandler(&out, nil))
			for range 3 {
				identify(r, call(tcp(), tt.peer, tt.header, "203.0.113.9"))
			}
			if got := strings.Count(out.String(), "level=WARN"); got != tt.want {
				t.Errorf("%d warnings, want %d:\n%s", got, tt.want, &out)
			}
		})
	}
}

func TestARequestOfAnUnknownWayIsFromItsPeer(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if got := source.Of(r); got.String() != "192.0.2.1" || got.Known() {
		t.Errorf("source %+v", got)
	}
}

// What a client writes into the forwarding headers never changes its source, as long
// as the trusted proxy adds the address it sees at the end of the one that is named.
func FuzzForwarded(f *testing.F) {
	for _, text := range []string{"", "1.2.3.4", "for=1.2.3.4", `for="[2001:db8::1]:80"`, `for="a\`, `"`, `a\"`, "_x, unknown", ",,,", "10.0.0.1,10.0.0.2", ";for=1.1.1.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tt := range []struct {
			header  source.Header
			headers []string
		}{
			{source.ForwardedFor, []string{"X-Forwarded-For", text + ", 203.0.113.9", "Forwarded", text}},
			{source.ForwardedFor, []string{"X-Forwarded-For", text, "X-Forwarded-For", "203.0.113.9", "Forwarded", text}},
			{source.Forwarded, []string{"Forwarded", text + `, for="203.0.113.9:80";proto=https`, "X-Forwarded-For", text}},
			{source.Forwarded, []string{"Forwarded", text, "Forwarded", "for=203.0.113.9", "X-Forwarded-For", text}},
		} {
			r := rules("10.0.0.0/8")
			r.Header = tt.header
			if got := identify(r, call(tcp(), "10.0.0.1:9", tt.headers...)); got.Name() != "203.0.113.9/32" {
				t.Errorf("%s, %q: source %s", tt.header, tt.headers, got.Name())
			}
			// Alone it may name anyone, and must not break anything.
			identify(r, call(tcp(), "10.0.0.1:9", "X-Forwarded-For", text, "Forwarded", text))
		}
	})
}
