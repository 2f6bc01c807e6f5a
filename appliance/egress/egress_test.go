package egress_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/egress"
)

func TestOnlyThePublicInternetIsAPlaceToGo(t *testing.T) {
	rules := egress.Rules{Ports: []uint16{443}}
	for _, tt := range []struct {
		addresses []string
		public    bool
	}{
		{[]string{"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.167.1.1", "192.169.0.1", "198.17.0.1", "223.255.255.255"}, true},
		{[]string{"2606:4700::1111", "2001:4860::8888", "2a00::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "::ffff:0:1.1.1.1"}, true},
		{[]string{"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.0.1"}, false},
		{[]string{"192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"}, false},
		{[]string{"::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd00::1", "ff02::1", "100::1", "2001::1", "2001:db8::1", "3fff::1", "4000::1", "5f00::1"}, false},
		{[]string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::c0a8:1", "64:ff9b:1::1", "::ffff:0:10.0.0.1", "2002:7f00:1::", "2002:101:101::1"}, false},
	} {
		for _, address := range tt.addresses {
			at := netip.AddrPortFrom(netip.MustParseAddr(address), 443)
			if err := rules.Allow(at); (err == nil) != tt.public || err != nil && !errors.Is(err, egress.ErrForbidden) {
				t.Errorf("%s: %v, want public: %t", address, err, tt.public)
			}
			if err := (egress.Rules{Ports: []uint16{443}, Private: true}).Allow(at); err != nil {
				t.Errorf("%s where private addresses are allowed: %v", address, err)
			}
		}
	}
}

func TestOnlyPortsThatAreAllowed(t *testing.T) {
	rules := egress.Rules{Ports: []uint16{443, 8443}, Private: true}
	for port, ok := range map[uint16]bool{443: true, 8443: true, 0: false, 22: false, 80: false, 444: false, 65535: false} {
		if err := rules.Allow(netip.AddrPortFrom(netip.MustParseAddr("1.1.1.1"), port)); (err == nil) != ok {
			t.Errorf("port %d: %v, want allowed: %t", port, err, ok)
		}
	}
}

// host is an HTTPS server on loopback, and a client that may go there.
func host(t testing.TB, h http.HandlerFunc) (*httptest.Server, *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	return server, client(t, server, egress.Rules{Ports: []uint16{portOf(server)}, Private: true})
}

// client is what rules make, which trusts server.
func client(t testing.TB, server *httptest.Server, rules egress.Rules) *http.Client {
	t.Helper()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	rules.TLS = &tls.Config{RootCAs: trusted}
	return rules.Client(time.Minute)
}

func portOf(server *httptest.Server) uint16 {
	return netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
}

func TestWhatIsForbiddenIsNotDialled(t *testing.T) {
	var called atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	t.Cleanup(server.Close)
	port := portOf(server)
	for name, rules := range map[string]egress.Rules{
		"a private address": {Ports: []uint16{port}},
		"another port":      {Ports: []uint16{443}, Private: true},
		"no port":           {Private: true},
	} {
		for _, url := range []string{server.URL, fmt.Sprintf("https://localhost:%d", port), fmt.Sprintf("https://[::ffff:127.0.0.1]:%d", port)} {
			if _, err := client(t, server, rules).Get(url); !errors.Is(err, egress.ErrForbidden) {
				t.Errorf("%s, %s: %v, want ErrForbidden", name, url, err)
			}
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the host was called %d times", n)
	}
}

func TestRedirects(t *testing.T) {
	elsewhere, _ := host(t, func(http.ResponseWriter, *http.Request) { t.Error("called elsewhere") })
	var self string
	server, c := host(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/here": "/there", "/full": self + "/there", "/loop": "/loop",
			"/elsewhere": elsewhere.URL, "/name": "https://localhost" + self[len("https://127.0.0.1"):] + "/there", "/plain": "http" + self[len("https"):] + "/there",
		}[r.URL.Path]
		if to == "" {
			fmt.Fprint(w, "there")
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	self = server.URL
	for path, ok := range map[string]bool{"/there": true, "/here": true, "/full": true, "/loop": false, "/elsewhere": false, "/name": false, "/plain": false} {
		res, err := c.Get(server.URL + path)
		if (err == nil) != ok {
			t.Errorf("%s: %v, want followed: %t", path, err, ok)
		}
		if err == nil {
			res.Body.Close()
		}
	}
}

func TestNothingButTheRequestIsSent(t *testing.T) {
	server, c := host(t, func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if name != "User-Agent" && name != "Connection" {
				t.Errorf("header %s: %s", name, r.Header.Get(name))
			}
		}
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
	})
	for range 2 {
		res, err := c.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}

func TestNoProxyIsAsked(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	if _, err := (egress.Rules{Ports: []uint16{443, portOf(proxy)}, Private: true}).Client(time.Second).Get("https://relay.invalid"); err == nil {
		t.Error("a name that nobody has was reached")
	}
}

func TestCertificateMustBeTrusted(t *testing.T) {
	server, _ := host(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	stranger := egress.Rules{Ports: []uint16{portOf(server)}, Private: true}.Client(time.Minute)
	var untrusted *tls.CertificateVerificationError
	if _, err := stranger.Get(server.URL); !errors.As(err, &untrusted) {
		t.Errorf("error = %v, want an untrusted certificate", err)
	}
}

func TestPlainHTTPIsForbidden(t *testing.T) {
	if _, err := (egress.Rules{Ports: []uint16{80}, Private: true}).Client(time.Minute).Get("http://127.0.0.1:80"); !errors.Is(err, egress.ErrForbidden) {
		t.Errorf("error = %v, want ErrForbidden", err)
	}
}
