package pairing_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/pairing"
)

func TestKeyComesBackFromItsFile(t *testing.T) {
	for _, hybrid := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "relay.json")
		k, err := pairing.Create(path, hybrid)
		if err != nil {
			t.Fatal(err)
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode() != 0o600 {
			t.Errorf("mode = %v, %v; want 0600", stat.Mode(), err)
		}
		back, err := pairing.Open(path)
		if err != nil || back.Setup().Code() != k.Setup().Code() || back.Token() != k.Token() {
			t.Errorf("Open = %v, %v; want %v", back, err, k)
		}
	}
}

func TestNeverWritesOverAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.json")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pairing.Create(path, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create: %v, want fs.ErrExist", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v; want what it held", b, err)
	}
}

func TestRefusesAFileThatOthersMayUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.json")
	if _, err := pairing.Create(path, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := pairing.Open(path); !errors.Is(err, pairing.ErrExposed) {
		t.Errorf("Open: %v, want ErrExposed", err)
	}
}

func TestRefusesWhatIsNoKey(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "other": `{"setup":"hm1.a.b"}`, "large": strings.Repeat(" ", 100<<10),
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := pairing.Open(path); err == nil {
			t.Errorf("%s: Open = %v, want an error", name, k)
		}
	}
	if k, err := pairing.Open(folder); err == nil {
		t.Errorf("a folder: Open = %v, want an error", k)
	}
}
