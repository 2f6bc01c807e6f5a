package seal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/seal"
)

func received() time.Time { return time.UnixMilli(1760000000123) }

// both runs a test for the usual key and for the hybrid one.
func both(t *testing.T, story func(t *testing.T, k seal.Key)) {
	for _, hybrid := range []bool{false, true} {
		t.Run(fmt.Sprintf("hybrid=%v", hybrid), func(t *testing.T) { story(t, newKey(t, hybrid)) })
	}
}

func newKey(t testing.TB, hybrid bool) seal.Key {
	t.Helper()
	k, err := seal.NewKey(hybrid)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealed(t testing.TB, s seal.Setup, plaintext string) []byte {
	t.Helper()
	b, err := s.Seal("d1", received(), []byte(plaintext))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpensWhatWasSealed(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		relay, err := seal.ParseSetup(k.Setup().Code())
		if err != nil {
			t.Fatal(err)
		}
		for _, plaintext := range []string{"", "x", strings.Repeat("long ", 1<<18)} {
			got, err := k.Open("d1", received(), sealed(t, relay, plaintext))
			if err != nil || string(got) != plaintext {
				t.Errorf("opened %d bytes, %v; want the %d that were sealed", len(got), err, len(plaintext))
			}
		}
	})
}

func TestTwoSealsOfOneTextDiffer(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		if a, b := sealed(t, k.Setup(), "same"), sealed(t, k.Setup(), "same"); bytes.Equal(a[:32], b[:32]) {
			t.Errorf("both start with the encapsulated key %x", a[:32])
		}
	})
}

func TestRefusesToOpenUnderAnythingElse(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		b := sealed(t, k.Setup(), "hi")
		for name, open := range map[string]func() ([]byte, error){
			"another id":          func() ([]byte, error) { return k.Open("d2", received(), b) },
			"a millisecond later": func() ([]byte, error) { return k.Open("d1", received().Add(time.Millisecond), b) },
			"another key":         func() ([]byte, error) { return newKey(t, false).Open("d1", received(), b) },
			"another hybrid key":  func() ([]byte, error) { return newKey(t, true).Open("d1", received(), b) },
			"a byte more":         func() ([]byte, error) { return k.Open("d1", received(), append(bytes.Clone(b), 0)) },
			"a byte less":         func() ([]byte, error) { return k.Open("d1", received(), b[:len(b)-1]) },
			"nothing":             func() ([]byte, error) { return k.Open("d1", received(), nil) },
		} {
			if got, err := open(); !errors.Is(err, seal.ErrOpen) {
				t.Errorf("%s: opened %q, %v; want ErrOpen", name, got, err)
			}
		}
	})
}

// X25519 ignores one bit of a public value (RFC 7748 §5), and HPKE binds the
// encapsulated key as it was written, so that one counts as well.
func TestEveryByteCounts(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		b := sealed(t, k.Setup(), "hi")
		for i := range b {
			for _, flip := range []byte{0x01, 0x80} {
				b[i] ^= flip
				if got, err := k.Open("d1", received(), b); !errors.Is(err, seal.ErrOpen) {
					t.Errorf("byte %d changed by %#x: opened %q, %v", i, flip, got, err)
				}
				b[i] ^= flip
			}
		}
	})
}

func TestTokens(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		relay, err := seal.ParseSetup(k.Setup().Code())
		if err != nil {
			t.Fatal(err)
		}
		if !relay.Admits(k.Token()) {
			t.Error("the relay does not admit its home computer")
		}
		for _, wrong := range []string{"", k.Token() + "x", k.Token()[1:], newKey(t, false).Token()} {
			if relay.Admits(wrong) || (seal.Setup{}).Admits(wrong) {
				t.Errorf("the token %q is admitted", wrong)
			}
		}
	})
}

func TestSetupCode(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		code := k.Setup().Code()
		got, err := seal.ParseSetup(" " + code + "\n")
		if err != nil || got.Code() != code || got.KeyID() != k.Setup().KeyID() || len(got.KeyID()) != 16 {
			t.Errorf("read back %q (%s), %v; want %q (%s)", got.Code(), got.KeyID(), err, code, k.Setup().KeyID())
		}
		if strings.Contains(code, k.Token()) {
			t.Error("the setup code tells the token")
		}
	})
}

// The name of a key is part of the protocol; this one is of a key of 32 bytes 9.
func TestKeyID(t *testing.T) {
	s, err := seal.ParseSetup("hm1.CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.KeyID(), "8c0cc17a04942cc4"; got != want { // head -c 32 /dev/zero | tr '\0' '\11' | sha256sum
		t.Errorf("KeyID = %s, want %s", got, want)
	}
}

func TestMalformedSetupCodes(t *testing.T) {
	parts := strings.Split(newKey(t, false).Setup().Code(), ".")
	hybrid := strings.Split(newKey(t, true).Setup().Code(), ".")
	zero := strings.Repeat("A", 43)
	for name, code := range map[string]string{
		"nothing":              "",
		"a part missing":       parts[0] + "." + parts[1],
		"a part too many":      strings.Join(parts, ".") + ".x",
		"an unknown version":   "hm3." + parts[1] + "." + parts[2],
		"the other's version":  "hm2." + parts[1] + "." + parts[2],
		"the other's key":      "hm1." + hybrid[1] + "." + parts[2],
		"a short key":          "hm1." + parts[1][:40] + "." + parts[2],
		"a key cut in half":    "hm2." + hybrid[1][:800] + "." + hybrid[2],
		"a key of no use":      "hm1." + zero + "." + parts[2],
		"a key not base64url":  "hm1." + strings.Repeat("+", 43) + "." + parts[2],
		"a short hash":         "hm1." + parts[1] + "." + parts[2][:40],
		"a hash not base64url": "hm1." + parts[1] + "." + strings.Repeat("/", 43),
	} {
		if got, err := seal.ParseSetup(code); err == nil {
			t.Errorf("%s: read %q as %q, want an error", name, code, got.Code())
		}
	}
}

func TestKeptKeys(t *testing.T) {
	both(t, func(t *testing.T, k seal.Key) {
		b, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		var read seal.Key
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		got, err := read.Open("d1", received(), sealed(t, k.Setup(), "hi"))
		if err != nil || string(got) != "hi" || read.Token() != k.Token() {
			t.Errorf("the key that was read opens %q, %v, and its token is the same: %v", got, err, read.Token() == k.Token())
		}
	})
}

func TestKeptKeysThatWereChanged(t *testing.T) {
	mine, other := kept(t, newKey(t, false)), kept(t, newKey(t, false))
	hybrid := kept(t, newKey(t, true))
	for name, change := range map[string][2]string{
		"another's token":     {"token", other["token"]},
		"another's key":       {"privateKey", other["privateKey"]},
		"another's setup":     {"setup", other["setup"]},
		"another sort of key": {"privateKey", hybrid["privateKey"] + "AAAA"},
		"no setup":            {"setup", ""},
		"no key":              {"privateKey", ""},
		"a key not base64url": {"privateKey", "?"},
	} {
		changed := map[string]string{"setup": mine["setup"], "privateKey": mine["privateKey"], "token": mine["token"], change[0]: change[1]}
		b, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		var k seal.Key
		err = json.Unmarshal(b, &k)
		if err == nil {
			t.Errorf("%s: read, want an error", name)
		} else if strings.Contains(err.Error(), mine["token"]) || strings.Contains(err.Error(), mine["privateKey"]) {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}

func kept(t testing.TB, k seal.Key) (fields map[string]string) {
	t.Helper()
	b, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestPrintingAKeyHidesItsSecrets(t *testing.T) {
	k := newKey(t, false)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, k); strings.Contains(got, k.Token()) {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
