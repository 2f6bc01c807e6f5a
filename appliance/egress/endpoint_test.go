package egress_test

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/egress"
)

func TestEndpointsHaveOneSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"https://relay.example":                      "https://relay.example",
		"HTTPS://Relay.Example.:443/":                "https://relay.example",
		"https://relay.example:8443/didcomm//":       "https://relay.example:8443/didcomm",
		"https://relay.example/a%2Fb/%C3%A4":         "https://relay.example/a%2Fb/%C3%A4",
		"https://xn--mnchen-3ya.example":             "https://xn--mnchen-3ya.example",
		"https://192.0.2.1:1/x":                      "https://192.0.2.1:1/x",
		"https://[2001:DB8::1]/x":                    "https://[2001:db8::1]/x",
		"https://[2001:db8::1]:65535":                "https://[2001:db8::1]:65535",
		"http://" + onionName + "/didcomm":           "http://" + onionName + "/didcomm",
		"http://www." + onionName + ":80":            "http://www." + onionName,
		"https://" + onionName + ":8080":             "https://" + onionName + ":8080",
		"http://" + strings.ToUpper(onionName) + ".": "http://" + onionName,
	} {
		e, err := egress.ParseEndpoint(text)
		if err != nil || e.String() != want || e.Deliverable() != nil {
			t.Errorf("%s: %s, %v, %v; want %s", text, e, err, e.Deliverable(), want)
		}
	}
}

func TestWhatIsNoEndpoint(t *testing.T) {
	for _, text := range []string{
		"", "relay.example", "//relay.example", "https:", "https://", "https:///x", "https:relay.example", "https://:443",
		"ftp://relay.example", "file:///etc/passwd", "javascript:alert(1)", "redis://relay.example", "unix:///run/x",
		"https://ann@relay.example", "https://ann:pw@relay.example", "https://@relay.example",
		"https://relay.example?", "https://relay.example/?a=b", "https://relay.example#", "https://relay.example/#x",
		"https://relay.example:0", "https://relay.example:65536", "https://relay.example:x", "https://relay.example:-1", "https://relay.example:443:443",
		"https://relay..example", "https://.relay.example", "https://relay.example..", "https://relay example", " https://relay.example", "https://relay.example\n",
		"https://relay.%65xample", "https://foo%2Eonion", "https://foo\u3002onion", "https://foo.\uff4fnion", "https://münchen.example",
		"https://relay.example\\@other.example", "https:\\\\relay.example", "https://relay.example/\r\nSET x", "https://[relay.example]", "https://[::1", "https://[fe80::1%25eth0]",
		"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 127) + "example", "https://relay.example/" + strings.Repeat("a", 2048),
		"http://relay.example", "http://127.0.0.1:6379", "http://relay.onion.example", "http://relayonion", "http://[::1]",
	} {
		e, err := egress.ParseEndpoint(text)
		if err == nil {
			err = e.Deliverable()
		}
		if !errors.Is(err, egress.ErrEndpoint) || strings.ContainsAny(err.Error(), "\n%") {
			t.Errorf("%q: %v, %v; want ErrEndpoint", text, e, err)
		}
	}
}

// Nothing that is read as an endpoint may be read as another place by those who dial it.
func FuzzEndpoint(f *testing.F) {
	for _, seed := range []string{"https://relay.example:8443/didcomm/", "http://a.ONION.:80", "https://[::ffff:1.2.3.4]/", "https://a%2eb@c\\d?#", "https://0x7f.1", "https://h/%zz/../%2e"} {
		f.Add(seed)
	}
	name := regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := egress.ParseEndpoint(text)
		if err != nil {
			if !errors.Is(err, egress.ErrEndpoint) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if _, noIP := netip.ParseAddr(e.Host); noIP != nil && !name.MatchString(e.Host) || e.Port == 0 {
			t.Errorf("%q has the host %q, port %d", text, e.Host, e.Port)
		}
		if e.Onion() != (e.Host == "onion" || strings.HasSuffix(e.Host, ".onion")) {
			t.Errorf("%q: onion is %t", text, e.Onion())
		}
		u, err := url.Parse(e.String())
		if err != nil || u.Hostname() != e.Host || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q is %q, which is %+v, %v to others", text, e, u, err)
		}
		again, err := egress.ParseEndpoint(e.String())
		if err != nil || again != e {
			t.Errorf("%q is %+v, and that is %+v, %v", text, e, again, err)
		}
	})
}
