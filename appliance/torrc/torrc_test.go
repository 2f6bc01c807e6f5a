package torrc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/torrc"
)

var service = torrc.Service{Dir: "/var/lib/tor/holdmail", Target: "/run/holdmail/onion.sock", Circuits: true}

const block = `# holdmail: begin. "holdmail tor --write" writes all down to the end mark.
HiddenServiceDir /var/lib/tor/holdmail
HiddenServicePort 80 unix:/run/holdmail/onion.sock
HiddenServiceExportCircuitID haproxy
# holdmail: end
`

const others = "SocksPort 9050\nHiddenServiceDir /var/lib/tor/ssh\nHiddenServicePort 22\n"

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		err              error
	}{
		{"nothing yet", "", block, nil},
		{"a service of somebody else's", others, others + block, nil},
		{"no line feed at the end", "SocksPort 9050", "SocksPort 9050\n" + block, nil},
		{"there already", others + block, others + block, nil},
		{"one that was edited, amid others", others + strings.Replace(block, "80", "8080", 1) + others, others + block + others, nil},
		{"no end", others + strings.Replace(block, "# holdmail: end\n", "", 1), "", torrc.ErrMarks},
		{"two blocks", block + block, "", torrc.ErrMarks},
		{"the same folder outside", "hiddenservicedir /var/lib/tor/holdmail/\n", "", torrc.ErrTaken},
		{"a line that goes on", "SocksPort \\\n", "", torrc.ErrContinued},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := torrc.Merge(tt.text, service)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Merge = %v,\n%s\nwant %v,\n%s", err, got, tt.err, tt.want)
			}
		})
	}
}

func TestAPortAndNoCircuits(t *testing.T) {
	s := torrc.Service{Dir: "/srv/onion", Target: "127.0.0.1:4237"}
	want := "HiddenServiceDir /srv/onion\nHiddenServicePort 80 127.0.0.1:4237\n"
	if got := s.Lines(); got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
}

func TestPathsThatTorWouldReadOtherwise(t *testing.T) {
	for _, dir := range []string{"", "/a b", "/a\nExitRelay 1", `/a"`, "/a#b", `/a\`} {
		if got, err := torrc.Merge(others, torrc.Service{Dir: dir, Target: "127.0.0.1:1"}); err == nil {
			t.Errorf("Merge with the folder %q = %q, want an error", dir, got)
		}
	}
}

func TestUser(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"#User nobody\nSocksPort 1\n":   "",
		"user debian-tor # the package": "debian-tor",
		"User a\nUser b\n":              "b",
	} {
		if got := torrc.User(text); got != want {
			t.Errorf("User(%q) = %q, want %q", text, got, want)
		}
	}
}

// Whatever a torrc says, its own lines stay, and a second merge changes nothing.
func FuzzMerge(f *testing.F) {
	f.Add(others)
	f.Add(others + block + others)
	f.Add("# holdmail: end\n" + block)
	f.Fuzz(func(t *testing.T, text string) {
		once, err := torrc.Merge(text, service)
		if err != nil {
			return
		}
		if twice, err := torrc.Merge(once, service); err != nil || twice != once {
			t.Errorf("a second merge = %v,\n%q\nwant\n%q", err, twice, once)
		}
		if strings.Count(once, block) != 1 {
			t.Fatalf("not one block in %q", once)
		}
		before, after, _ := strings.Cut(once, block)
		if !strings.HasPrefix(text, strings.TrimSuffix(before, "\n")) || !strings.HasSuffix(text, after) {
			t.Errorf("lines of\n%q\nare not all in\n%q", text, once)
		}
	})
}

func TestLogFile(t *testing.T) {
	for text, want := range map[string]string{
		"Log notice syslog\n":                   "",
		"#Log notice file /x\n":                 "",
		"Log notice file /var/log/tor/log\n":    "/var/log/tor/log",
		"log debug file /a\nLog notice file /b": "/b",
	} {
		if got := torrc.LogFile(text); got != want {
			t.Errorf("LogFile(%q) = %q, want %q", text, got, want)
		}
	}
}
