package identity_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/identity"
)

func create(t testing.TB) (path string, who *identity.Identity) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "me.json")
	who, err := identity.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, who
}

func TestIdentityComesBackFromItsFile(t *testing.T) {
	path, who := create(t)
	stat, err := os.Stat(path)
	if err != nil || stat.Mode() != 0o600 {
		t.Errorf("mode = %v, %v; want 0600", stat.Mode(), err)
	}
	back, err := identity.Open(path)
	if err != nil || back.DID() != who.DID() || back.Sign("c") != who.Sign("c") {
		t.Errorf("Open = %v, %v; want the identity that was created", back, err)
	}
}

func TestFormOfTheFile(t *testing.T) {
	path, who := create(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		DID           string
		PrivateKeyJwk map[string]string
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	key := got.PrivateKeyJwk
	if got.DID != string(who.DID()) || key["kty"] != "EC" || key["crv"] != "secp256k1" || len(key) != 5 {
		t.Errorf("the file is %s", b)
	}
	for _, number := range []string{"x", "y", "d"} {
		if len(key[number]) != 43 {
			t.Errorf("%s has %d characters, want 43: 32 bytes in base64url", number, len(key[number]))
		}
	}
}

func TestCreateWritesOverNothing(t *testing.T) {
	path, who := create(t)
	if _, err := identity.Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create again: %v, want fs.ErrExist", err)
	}
	if back, err := identity.Open(path); err != nil || back.DID() != who.DID() {
		t.Errorf("the first identity is %v, %v", back, err)
	}
	loose := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", loose); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Create(loose); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create through a link: %v, want fs.ErrExist", err)
	}
}

func TestOpenRefusesWhatOthersMayUse(t *testing.T) {
	path, _ := create(t)
	for _, mode := range []fs.FileMode{0o640, 0o620, 0o604, 0o602, 0o666, 0o700, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := identity.Open(path)
		if got, want := errors.Is(err, identity.ErrExposed), mode&0o077 != 0; got != want {
			t.Errorf("mode %v: %v; exposed: %v, want %v", mode, err, got, want)
		}
	}
}

func TestOpenRefusesWhatIsNoIdentity(t *testing.T) {
	const (
		// The private key 1: its point is the generator (SEC 2 §2.4.1).
		one    = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"
		oneDID = "did:key:zQ3shVc2UkAfJCdc1TR8E66J85h48P43r93q8jGPkPpjF9Ef9"
		order  = "_____________________rqu3OavSKA7v9JejNA2QUE" // of the curve: n
	)
	good := `{"did":"` + oneDID + `","privateKeyJwk":{"kty":"EC","crv":"secp256k1","d":"` + one + `"}}`
	path := filepath.Join(t.TempDir(), "me.json")
	open := func(text string) error {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := identity.Open(path)
		return err
	}
	if err := open(good); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for _, tt := range []struct{ name, text, says string }{
		{"nothing", "", "want JSON"},
		{"another curve", strings.Replace(good, "secp256k1", "P-256", 1), "secp256k1"},
		{"another DID", strings.Replace(good, oneDID, "did:cid:ann", 1), "did is not"},
		{"a short key", strings.Replace(good, one, one[:40], 1), "32 bytes"},
		{"no key", strings.Replace(good, one, "", 1), "32 bytes"},
		{"zero", strings.Replace(good, one, one[:42]+"A", 1), "not a number of this curve"},
		{"the order", strings.Replace(good, one, order, 1), "not a number of this curve"},
		{"too much", good + strings.Repeat(" ", 1<<20), "no identity file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := open(tt.text); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Open: %v, want it to say %q", err, tt.says)
			}
		})
	}
	if _, err := identity.Open(t.TempDir()); err == nil {
		t.Error("a folder was taken")
	}
}
