package torhost_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/torhost"
)

func write(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode() != mode {
		t.Errorf("%s: %v, %v; want mode %v", path, stat, err, mode)
	}
}

func TestReplaceKeepsModeAndTheOldText(t *testing.T) {
	dir := t.TempDir()
	f := torhost.File{Path: filepath.Join(dir, "torrc"), Backup: filepath.Join(dir, "torrc.bak")}
	write(t, f.Path, "old", 0o640)
	if err := f.Replace("new"); err != nil {
		t.Fatal(err)
	}
	check(t, f.Path, "new", 0o640)
	check(t, f.Backup, "old", 0o640)
}

func TestATextThatIsRefusedChangesNothing(t *testing.T) {
	dir, refused := t.TempDir(), errors.New("refused")
	f := torhost.File{Path: filepath.Join(dir, "torrc"), Backup: filepath.Join(dir, "torrc.bak"), Check: func(candidate string) error {
		check(t, candidate, "new", 0o600)
		return refused
	}}
	write(t, f.Path, "old", 0o600)
	if err := f.Replace("new"); !errors.Is(err, refused) {
		t.Errorf("Replace = %v, want %v", err, refused)
	}
	check(t, f.Path, "old", 0o600)
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFileAndItsFolderAreMade(t *testing.T) {
	f := torhost.File{Path: filepath.Join(t.TempDir(), "new", "tor.conf")}
	if text, err := f.Read(); text != "" || err != nil {
		t.Errorf("Read before there is a file = %q, %v; want none", text, err)
	}
	if err := f.Replace("text"); err != nil {
		t.Fatal(err)
	}
	check(t, f.Path, "text", 0o644)
}

// me is who runs the test, and another is somebody else.
func me(t testing.TB) torhost.User {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return lookup(t, who.Username)
}

func another(t testing.TB) torhost.User { t.Helper(); return lookup(t, "nobody") }

func lookup(t testing.TB, name string) torhost.User {
	t.Helper()
	who, err := torhost.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

const name = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"

func TestName(t *testing.T) {
	for _, tt := range []struct {
		story, hostname string
		mode            fs.FileMode
		tor             torhost.User
		want, says      string
	}{
		{"Tor's own", name + "\n", 0o700, me(t), name, ""},
		{"whose it is nobody knows", name, 0o700, torhost.User{}, name, ""},
		{"of another user", name, 0o700, another(t), "", "chown -R " + another(t).Name + ": "},
		{"open to a group", name, 0o750, me(t), "", "chmod 700 "},
		{"no name", "relay.example", 0o700, me(t), "", "no onion name"},
	} {
		t.Run(tt.story, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "hostname"), tt.hostname, 0o600)
			if err := os.Chmod(dir, tt.mode); err != nil {
				t.Fatal(err)
			}
			got, err := torhost.Name(dir, tt.tor)
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Name = %q, %v; want %q and %q", got, err, tt.want, tt.says)
			}
		})
	}
	if _, err := torhost.Name(filepath.Join(t.TempDir(), "none"), torhost.User{}); !errors.Is(err, torhost.ErrNoName) {
		t.Errorf("Name without a folder = %v, want %v", err, torhost.ErrNoName)
	}
}

func TestWhoListens(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "onion.sock"))
	if err != nil {
		t.Fatal(err)
	}
	socket := l.Addr().String()
	for _, tt := range []struct {
		mode fs.FileMode
		tor  torhost.User
		open bool
	}{
		{0o600, torhost.User{}, true},
		{0o600, me(t), true},
		{0o660, another(t), false},
		{0o664, another(t), false},
		{0o666, another(t), true},
	} {
		if err := os.Chmod(socket, tt.mode); err != nil {
			t.Fatal(err)
		}
		err := torhost.Entrance(socket, tt.tor)
		if (err == nil) != tt.open || err != nil && !strings.Contains(err.Error(), "is closed to Tor") {
			t.Errorf("Entrance of a socket with mode %v for %q = %v, want it open: %v", tt.mode, tt.tor.Name, err, tt.open)
		}
	}
	l.Close()
	if err := torhost.Entrance(socket, me(t)); err == nil || !strings.Contains(err.Error(), "systemctl restart holdmail") {
		t.Errorf("Entrance of none = %v", err)
	}
	if err := torhost.Socks("127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "--socks") {
		t.Errorf("Socks of none = %v", err)
	}
}

func TestASocketIsOlderThanWhatChangedSince(t *testing.T) {
	dir, at := t.TempDir(), time.Now()
	socket, older, younger := filepath.Join(dir, "onion.sock"), filepath.Join(dir, "older"), filepath.Join(dir, "younger")
	for path, age := range map[string]time.Duration{socket: time.Hour, older: 2 * time.Hour, younger: 0} {
		write(t, path, "", 0o600)
		if err := os.Chtimes(path, at, at.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		target string
		files  []string
		want   bool
	}{
		{socket, []string{older}, true},
		{socket, []string{older, younger}, false},
		{socket, []string{filepath.Join(dir, "none"), older}, true},
		{filepath.Join(dir, "none"), nil, false},
		{"127.0.0.1:4237", []string{younger}, true},
	} {
		if got := torhost.OpenedSince(tt.target, tt.files...); got != tt.want {
			t.Errorf("OpenedSince(%q, %q) = %v, want %v", tt.target, tt.files, got, tt.want)
		}
	}
}

func TestSetVariable(t *testing.T) {
	for text, want := range map[string]string{
		"":              "A=1\n",
		"B=2":           "B=2\nA=1\n",
		"A=0\nB=2\n":    "A=1\nB=2\n",
		"A=0\nA=3\n":    "A=0\nA=1\n",
		"#A=0\nAA=0\n":  "#A=0\nAA=0\nA=1\n",
		"A=1\n":         "A=1\n",
		" A = 0\n# c\n": "A=1\n# c\n",
	} {
		if got := torhost.SetVariable(text, "A", "1"); got != want {
			t.Errorf("SetVariable(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	got := torhost.Variables("# A=1\nB=2\n C = \"3 4\" \n;D=5\nnothing\nE='6'\n")
	if want := []string{"B=2", "C=3 4", "E=6"}; !slices.Equal(got, want) {
		t.Errorf("Variables = %q, want %q", got, want)
	}
}
