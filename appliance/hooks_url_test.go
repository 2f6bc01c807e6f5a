package appliance

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/source"
)

// Senders sign the URL that they call. Without a public one in the settings it is
// what they, and a proxy that is trusted, say of it.
func TestTheURLOfADeliveryIsTheSendersOwn(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	told := []string{"X-Forwarded-Proto", "https", "X-Forwarded-For", "192.0.2.1"}
	for _, tt := range []struct {
		name, public string
		proxies      []netip.Prefix
		header       source.Header
		headers      []string
		want         string
	}{
		{"nobody tells", "", nil, source.ForwardedFor, nil, "http://relay.example:8080"},
		{"a proxy that is trusted", "", loopback, source.ForwardedFor, told, "https://relay.example:8080"},
		{"one that is not", "", nil, source.ForwardedFor, told, "http://relay.example:8080"},
		{"by the other header", "", loopback, source.Forwarded, []string{"Forwarded", "for=192.0.2.1;proto=https"}, "https://relay.example:8080"},
		{"the settings count first", "https://public.example", loopback, source.ForwardedFor, nil, "https://public.example"},
		{"with the base path", "https://public.example/didcomm", nil, source.ForwardedFor, told, "https://public.example"},
		{"with a path of its own", "https://public.example/mail", nil, source.ForwardedFor, nil, "https://public.example/mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testConfig(t)
			c.Engine, c.PublicURL, c.TrustedProxies, c.ForwardingHeader = "memory", tt.public, tt.proxies, string(tt.header)
			r := startHooks(t, c)
			defer r.stop()
			head := "GET /hooks/" + hookID + "?a=b HTTP/1.1\r\nHost: relay.example:8080\r\n"
			for pair := range slices.Chunk(tt.headers, 2) {
				head += pair[0] + ": " + pair[1] + "\r\n"
			}
			if got := r.raw(head + "\r\n"); got.StatusCode != http.StatusOK {
				t.Fatal(got.Status)
			}
			got := r.take()
			if want := tt.want + "/hooks/" + hookID + "?a=b"; got.URL != want {
				t.Errorf("the home computer is told %s, want %s", got.URL, want)
			}
			if addresses := slices.Concat(got.Values("X-Forwarded-For"), got.Values("Forwarded")); addresses != nil {
				t.Errorf("it is told %q", addresses)
			}
		})
	}
}

// twilioSignature is what Twilio signs a form with: the URL, and then each name and
// value in the order of names.
func twilioSignature(url string, form ...string) string {
	mac := hmac.New(sha1.New, []byte("auth token"))
	_, _ = io.WriteString(mac, url+strings.Join(form, "")) // never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestTwiliosSignatureHoldsForWhatTheHomeComputerGets(t *testing.T) {
	c := testConfig(t)
	c.Engine, c.PublicURL = "memory", "https://relay.example"
	r := startHooks(t, c)
	defer r.stop()
	const query = "?bodySHA256=a%2fb&x"
	signature := twilioSignature("https://relay.example/hooks/"+hookID+query, "Body", "hi there", "From", "+1555")
	got := r.call("POST", "/hooks/"+hookID+query, "From=%2B1555&Body=hi+there",
		"X-Twilio-Signature", signature, "Content-Type", "application/x-www-form-urlencoded")
	if text, err := io.ReadAll(got.Body); err != nil || string(text) != `<?xml version="1.0" encoding="UTF-8"?><Response></Response>` {
		t.Errorf("Twilio is answered %s, %v", text, err)
	}
	kept := r.take()
	if string(kept.Body) != "From=%2B1555&Body=hi+there" || !slices.Equal(kept.Values("X-Twilio-Signature"), []string{
		twilioSignature(kept.URL, "Body", "hi there", "From", "+1555"),
	}) {
		t.Errorf("kept %q: the signature does not hold", kept.AppendJSON(nil))
	}
}

// Senders and the home computer may come by Tor. What strangers there have spent is
// none of theirs.
func TestWebhooksComeByTheOnionToo(t *testing.T) {
	c := testConfig(t)
	c.Engine = "memory"
	c.Onion.Listen = filepath.Join(t.TempDir(), "onion.sock")
	c.Onion.ReadGlobal, c.Onion.CircuitsPerWindow = 2, 3
	r := startHooks(t, c)
	defer r.stop()
	way := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", c.Onion.Listen)
		if err == nil {
			_, err = io.WriteString(conn, "PROXY TCP6 fc00:dead:beef:4dad::0:7 ::1 65535 42\r\n")
		}
		return conn, err
	}}
	onion := r
	onion.client = &http.Client{Transport: way}
	for i, want := range []int{401, 404, 429} { // strangers there pay as readers there
		path := []string{"/relay/v1/next", "/hooks/unknown", "/hooks/unknown"}[i]
		if got := onion.call("GET", path, ""); got.StatusCode != want {
			t.Errorf("stranger's call %d: %s, want %d", i, got.Status, want)
		}
	}
	if got := r.call("GET", "/hooks/unknown", ""); got.StatusCode != http.StatusNotFound {
		t.Errorf("a stranger by another way: %s, want 404", got.Status)
	}
	if got := onion.send("hi"); got.StatusCode != http.StatusOK {
		t.Fatal(got.Status)
	}
	if got := onion.take(); string(got.Body) != "hi" {
		t.Errorf("%q came", got.Body)
	}
}
