package did_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
)

var bare = []string{
	"did:cid:bagaaieratestaccount",
	"did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
	"did:web:host%3A8443:users:ann",
	"did:web:host%3a8443",
	"did:x:%00",
	"did:1:a",
	"did:x::a",
	"did:x:a.b-c_D9",
	"did:x:" + strings.Repeat("a", did.MaxLength-len("did:x:")),
}

var notBare = []string{
	"",
	"did",
	"did:",
	"did:x",
	"did:x:",
	"did:x:a:",
	"did::a",
	"DID:x:a",
	"did:X:a",
	"did:x-y:a",
	"did:x:a/path",
	"did:x:a?versionTime=2020-01-01T00:00:00Z",
	"did:x:a;service=b",
	"did:x:a b",
	"did:x:a\n",
	"did:x:%",
	"did:x:%4",
	"did:x:%4g",
	"did:x:%%41",
	"did:x:ä",
	"did:x:a\x00",
	" did:x:a",
	"#key-1",
	"https://host/did:x:a",
	"did:x:" + strings.Repeat("a", did.MaxLength-len("did:x:")+1),
}

func TestParseKeepsABareDIDAsItIs(t *testing.T) {
	for _, s := range bare {
		if got, err := did.Parse(s); err != nil || string(got) != s {
			t.Errorf("Parse(%.80q) = %.80q, %v; want it unchanged", s, got, err)
		}
	}
}

func TestParseRefusesAllElse(t *testing.T) {
	for _, s := range append(notBare, "did:x:a#key-1", "did:x:a#") {
		if got, err := did.Parse(s); !errors.Is(err, did.ErrNotDID) || got != "" {
			t.Errorf("Parse(%.80q) = %.80q, %v; want ErrNotDID", s, got, err)
		}
	}
}

func TestOfKeyID(t *testing.T) {
	for _, tt := range []struct {
		kid  string
		want did.ID // "" for ErrNotDID
	}{
		{"did:cid:ann#key-1", "did:cid:ann"},
		{"did:cid:ann", "did:cid:ann"},
		{"did:cid:ann#", "did:cid:ann"},
		{"did:cid:ann#a#b", "did:cid:ann"},
		{"did:cid:ann#a/b?c", "did:cid:ann"},
		{"did:web:host%3A8443#k", "did:web:host%3A8443"},
		{"#key-1", ""},
		{"", ""},
		{"key-1", ""},
		{"did:cid:ann/path#key-1", ""},
		{"did:cid:ann?versionId=1#key-1", ""},
	} {
		got, err := did.OfKeyID(tt.kid)
		if got != tt.want || errors.Is(err, did.ErrNotDID) != (tt.want == "") {
			t.Errorf("OfKeyID(%q) = %q, %v; want %q", tt.kid, got, err, tt.want)
		}
	}
}

func TestMethod(t *testing.T) {
	for id, want := range map[did.ID]string{"did:key:z1": "key", "did:web:host:a": "web"} {
		if got := id.Method(); got != want {
			t.Errorf("%q.Method() = %q, want %q", id, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range append(bare, notBare...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := did.Parse(s)
		if err != nil {
			return
		}
		if string(id) != s || len(s) > did.MaxLength || strings.ContainsAny(s, "/?# \r\n") {
			t.Errorf("Parse(%q) = %q", s, id)
		}
		if !strings.HasPrefix(s, "did:"+id.Method()+":") || id.Method() == "" {
			t.Errorf("%q.Method() = %q", id, id.Method())
		}
	})
}

func FuzzOfKeyID(f *testing.F) {
	for _, s := range append(bare, notBare...) {
		f.Add(s)
		f.Add(s + "#key-1")
	}
	f.Fuzz(func(t *testing.T, kid string) {
		id, err := did.OfKeyID(kid)
		if err != nil {
			return
		}
		if again, err := did.Parse(string(id)); err != nil || again != id {
			t.Errorf("OfKeyID(%q) = %q, which is not bare", kid, id)
		}
		if kid != string(id) && !strings.HasPrefix(kid, string(id)+"#") {
			t.Errorf("OfKeyID(%q) = %q, which does not stand before the first #", kid, id)
		}
	})
}
