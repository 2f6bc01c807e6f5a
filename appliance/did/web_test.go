package did_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
)

// The first four are the examples of the did:web specification ("Read").
var webURLs = map[did.ID]string{
	"did:web:w3c-ccg.github.io":               "https://w3c-ccg.github.io/.well-known/did.json",
	"did:web:w3c-ccg.github.io:user:alice":    "https://w3c-ccg.github.io/user/alice/did.json",
	"did:web:example.com%3A3000":              "https://example.com:3000/.well-known/did.json",
	"did:web:example.com%3A3000:user:alice":   "https://example.com:3000/user/alice/did.json",
	"did:web:example.com%3a443":               "https://example.com:443/.well-known/did.json",
	"did:web:Example.COM:Ann":                 "https://example.com/Ann/did.json",
	"did:web:localhost":                       "https://localhost/.well-known/did.json",
	"did:web:xn--bcher-kva.example:b%C3%BCro": "https://xn--bcher-kva.example/b%C3%BCro/did.json",
	"did:web:example.com:a%20b%3Fc%23d%25":    "https://example.com/a%20b%3Fc%23d%25/did.json",
	"did:web:example.com:%3A:...":             "https://example.com/%3A/.../did.json",
}

func TestWebURL(t *testing.T) {
	for id, want := range webURLs {
		if u, err := did.WebURL(id); err != nil || u.String() != want {
			t.Errorf("WebURL(%s) = %v, %v; want %s", id, u, err, want)
		}
	}
}

var notWeb = []did.ID{
	"did:key:example.com", "did:web:", "did:web:%3A443", "did:web:a..b", "did:web:.a", "did:web:a.", "did:web:-a.b", "did:web:a-.b", "did:web:a_b.c",
	"did:web:127.0.0.1", "did:web:127.0.0.1%3A8443", "did:web:2130706433", "did:web:0x7f.1", "did:web:example.0x1", "did:web:1.2.3.4.", "did:web:%5B%3A%3A1%5D",
	"did:web:user%40example.com", "did:web:example.com%2Fa", "did:web:example.com%00", "did:web:ex%61mple.com",
	"did:web:example.com%3A", "did:web:example.com%3A0", "did:web:example.com%3A0443", "did:web:example.com%3A65536", "did:web:example.com%3A44a", "did:web:example.com%3A443%3A1",
	"did:web:example.com::a", "did:web:example.com:a::b", "did:web:example.com:..", "did:web:example.com:a:%2e%2E:b", "did:web:example.com:.", "did:web:example.com:%2E",
	"did:web:example.com:a%2Fb", "did:web:example.com:a%5Cb", "did:web:example.com:a%00", "did:web:facebookcorewwwi.onion",
	did.ID("did:web:" + strings.Repeat("a", 64) + ".example"), did.ID("did:web:" + strings.Repeat("a.", 127) + "aa"),
}

func TestNotWeb(t *testing.T) {
	for _, id := range notWeb {
		if u, err := did.WebURL(id); !errors.Is(err, did.ErrNotWeb) {
			t.Errorf("WebURL(%s) = %v, %v; want ErrNotWeb", id, u, err)
		}
	}
}

func FuzzWebURL(f *testing.F) {
	for id := range webURLs {
		f.Add(string(id))
	}
	for _, id := range notWeb {
		f.Add(string(id))
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := did.Parse(s)
		if err != nil {
			return
		}
		u, err := did.WebURL(id)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Scheme != "https" || again.Host != u.Host || again.User != nil || again.RawQuery != "" || again.Fragment != "" || !strings.HasSuffix(again.Path, "/did.json") {
			t.Fatalf("WebURL(%q) = %q, which reads as %#v, %v", s, u, again, err)
		}
		if clean := again.JoinPath(); clean.EscapedPath() != again.EscapedPath() {
			t.Errorf("WebURL(%q) = %q, which a server may read as %q", s, u, clean)
		}
	})
}
