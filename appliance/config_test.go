package appliance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/holdmail/holdmail/storage"
)

// load reads args and variables as the serve command does.
func load(t testing.TB, args, environ []string) (Config, []string, error) {
	t.Helper()
	command := struct{ Flags }{NewFlags()}
	parser, err := kong.New(&command)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(command.Flags, append([]string{"HOME=/home/ann"}, environ...))
}

func TestDefaultsAreThoseOfTheSpecification(t *testing.T) {
	got, warnings, err := load(t, nil, nil)
	want := Config{
		Port: 4236, BindAddress: "0.0.0.0", BasePath: "/didcomm",
		Gatekeeper: "http://localhost:4224",
		Engine:     "bolt", Data: "/home/ann/.local/state/holdmail", DiskFloor: 32 << 20,
		UploadLimit: 5 << 20, MaxRecipients: 1000, MessageTTL: 7 * 24 * time.Hour,
		Caps: storage.Caps{
			RecipientBytes: 16 << 20, TotalBytes: 256 << 20,
			RecipientMessages: 10_000, TotalMessages: 500_000, Challenges: 10_000,
		},
		LogFormat: "auto",
	}
	if err != nil || len(warnings) != 0 || got != want {
		t.Errorf("Load = %+v, %q, %v\nwant   %+v", got, warnings, err, want)
	}
}

func TestAFlagBeatsTheEnvironmentAndAnEmptyVariableIsUnset(t *testing.T) {
	for _, tt := range []struct {
		name          string
		args, environ []string
		want          uint16
	}{
		{"variable", nil, []string{"ARCHON_DIDCOMM_PORT=5000"}, 5000},
		{"flag", []string{"--port=6000"}, []string{"ARCHON_DIDCOMM_PORT=5000"}, 6000},
		{"flag over a wrong variable", []string{"--port=6000"}, []string{"ARCHON_DIDCOMM_PORT=x"}, 6000},
		{"empty variable", nil, []string{"ARCHON_DIDCOMM_PORT="}, 4236},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := load(t, tt.args, tt.environ)
			if err != nil || c.Port != tt.want {
				t.Errorf("port = %d, %v; want %d", c.Port, err, tt.want)
			}
		})
	}
}

func TestEverySettingIsReadFromItsVariableAndItsFlag(t *testing.T) {
	other := map[string]string{ // a good value that is not the default
		"ARCHON_BIND_ADDRESS": "::1", "HOLDMAIL_BASE_PATH": "/mail", "HOLDMAIL_PUBLIC_URL": "https://relay.example",
		"ARCHON_GATEKEEPER_URL": "https://keeper.example/x", "ARCHON_DIDCOMM_DB": "memory", "HOLDMAIL_DATA": "/srv/mail",
		"HOLDMAIL_DISK_FLOOR": "0", "HOLDMAIL_LOG_LEVEL": "debug", "HOLDMAIL_LOG_FORMAT": "json",
		"HOLDMAIL_MAX_MESSAGES": "600000", "ARCHON_DIDCOMM_MAX_TOTAL_BYTES": "300000000", "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES": "30000000",
	}
	plain, _, err := load(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings() {
		value := other[s.env]
		if value == "" {
			value = "1234"
		}
		byVariable, _, err := load(t, nil, []string{s.env + "=" + value})
		if err != nil || byVariable == plain {
			t.Errorf("%s=%s changes nothing (%v)", s.env, value, err)
		}
		byFlag, _, err := load(t, []string{"--" + s.flag, value}, nil)
		if err != nil || byFlag != byVariable {
			t.Errorf("--%s %s gives %+v, %v; the variable gives %+v", s.flag, value, byFlag, err, byVariable)
		}
	}
}

func TestEveryWrongSettingIsNamedAtOnce(t *testing.T) {
	_, _, err := load(t, []string{"--log-level=loud"}, []string{
		"ARCHON_DIDCOMM_PORT=0", "ARCHON_DIDCOMM_DB=redis", "ARCHON_DIDCOMM_UPLOAD_LIMIT=5m",
		"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=1000", "ARCHON_DIDCOMM_MAX_TOTAL_BYTES=999",
	})
	want := `wrong settings:
ARCHON_DIDCOMM_PORT (--port) is "0": want a whole number from 1 to 65535
ARCHON_DIDCOMM_DB (--db) is "redis": want bolt or memory (redis is not in this version yet)
ARCHON_DIDCOMM_UPLOAD_LIMIT (--upload-limit) is "5m": want a size such as 512kb, 1.5mb, 1gb or plain bytes, from 1 to 1073741824 bytes
HOLDMAIL_LOG_LEVEL (--log-level) is "loud": want debug, info, warn or error
ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES (--max-recipient-bytes) is 1000 and ARCHON_DIDCOMM_MAX_TOTAL_BYTES (--max-total-bytes) is 999: want the first no larger than the second`
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	wrong := map[string][]string{
		"port":                {"65536", "-1", "+1", "4 236", "0x10", "1e3", "99999999999999999999", ""},
		"bind":                {"0.0.0.0:80", "[::]", "a b", "-x", ""},
		"base-path":           {"didcomm", "//", "/a//b", "/:id", "/*x", "/..", "/a?b", ""},
		"public-url":          {"relay.example", "ftp://relay.example", "https://", "https://:80", "https://u@relay.example", "https://relay.example/?", "https://relay.example/#x", ""},
		"gatekeeper":          {"localhost:4224", "unix:///run/gatekeeper"},
		"db":                  {"BOLT", "sqlite", ""},
		"data":                {""},
		"disk-floor":          {"-1", "32MiB", "2000000gb"},
		"upload-limit":        {"0", "5m", "0.5", "2gb", "0.0001kb"},
		"max-recipients":      {"0", "100001"},
		"message-ttl-ms":      {"0", "-5", "3153600000001", "1.5"},
		"max-recipient-bytes": {"0", "16mb", "1125899906842625"},
		"max-total-bytes":     {"0", "256mb"},
		"max-messages":        {"0", "1000000001"},
		"max-challenges":      {"0", "NaN"},
		"log-format":          {"xml"},
	}
	for flag, texts := range wrong {
		for _, text := range texts {
			if _, _, err := load(t, []string{"--" + flag + "=" + text}, nil); err == nil || !strings.Contains(err.Error(), "(--"+flag+")") {
				t.Errorf("--%s=%s: error is %v, want one that names the flag", flag, text, err)
			}
		}
	}
}

func TestContradictions(t *testing.T) {
	good, _, err := load(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	const map32 = 1<<31 - 1
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   []string // named, in order
	}{
		{"none, even on 32 bits", func(*Config) {}, nil},
		{"equal is no contradiction", func(c *Config) { c.UploadLimit = c.Caps.RecipientBytes }, nil},
		{"upload over a mailbox", func(c *Config) { c.UploadLimit = c.Caps.RecipientBytes + 1 }, []string{"UPLOAD_LIMIT", "MAX_RECIPIENT_BYTES"}},
		{"mailbox over the total", func(c *Config) { c.Caps.TotalBytes = c.Caps.RecipientBytes - 1 }, []string{"MAX_RECIPIENT_BYTES", "MAX_TOTAL_BYTES"}},
		{"mailbox messages over the total", func(c *Config) { c.Caps.TotalMessages = 9999 }, []string{"MAX_RECIPIENT_MESSAGES", "MAX_MESSAGES"}},
		{"a file over the map", func(c *Config) { c.Caps.TotalBytes = 1 << 30 }, []string{"MAX_TOTAL_BYTES", "MAX_MESSAGES", "32-bit"}},
		{"memory has no file", func(c *Config) { c.Caps.TotalBytes, c.Engine = 1<<30, "memory" }, nil},
		{"no home for the data", func(c *Config) { c.Data = "" }, []string{"HOLDMAIL_DATA", "HOME"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.change(&c)
			got := fmt.Sprint(contradictions(c, nil, map32))
			for _, name := range tt.want {
				_, rest, ok := strings.Cut(got, name)
				if !ok {
					t.Errorf("%s does not name %s in its place", got, name)
				}
				got = rest
			}
			if tt.want == nil && got != "[]" {
				t.Errorf("contradictions = %s, want none", got)
			}
		})
	}
}

func TestAMisspeltSettingOfOursIsWarnedOf(t *testing.T) {
	_, got, err := load(t, nil, []string{"HOLDMAIL_MAX_MESAGES=5", "ARCHON_NODE_NAME=x", "HOLDMAIL_DATA=/x"})
	want := []string{"HOLDMAIL_MAX_MESAGES is not a setting of this version"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("warnings = %q, %v; want %q", got, err, want)
	}
}

func TestDataFolder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"home", nil, "/home/ann/.local/state/holdmail"},
		{"XDG", []string{"XDG_STATE_HOME=/state"}, "/state/holdmail"},
		{"relative XDG is ignored", []string{"XDG_STATE_HOME=state"}, "/home/ann/.local/state/holdmail"},
		{"service manager", []string{"XDG_STATE_HOME=/state", "STATE_DIRECTORY=/var/lib/holdmail:/var/lib/other"}, "/var/lib/holdmail"},
		{"said", []string{"STATE_DIRECTORY=/var/lib/holdmail", "HOLDMAIL_DATA=/srv/mail"}, "/srv/mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := load(t, nil, tt.environ)
			if err != nil || c.Data != tt.want {
				t.Errorf("data folder = %q, %v; want %q", c.Data, err, tt.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct{ public, base, want string }{
		{"", "/didcomm", ""},
		{"https://relay.example/", "/didcomm", "https://relay.example/didcomm"},
		{"https://relay.example/didcomm", "/didcomm", "https://relay.example/didcomm"},
		{"https://relay.example/mail", "/didcomm", "https://relay.example/mail/didcomm"},
		{"https://relay.example", "/", "https://relay.example"},
	} {
		c, _, err := load(t, nil, []string{"HOLDMAIL_PUBLIC_URL=" + tt.public, "HOLDMAIL_BASE_PATH=" + tt.base})
		if err != nil || c.Endpoint() != tt.want {
			t.Errorf("%s with %s is published as %q, %v; want %q", tt.public, tt.base, c.Endpoint(), err, tt.want)
		}
	}
}

func TestLocalURL(t *testing.T) {
	for bind, want := range map[string]string{
		"0.0.0.0": "http://127.0.0.1:4236", "::": "http://127.0.0.1:4236",
		"::1": "http://[::1]:4236", "10.0.0.2": "http://10.0.0.2:4236", "pi.lan": "http://pi.lan:4236",
	} {
		if got := (Config{BindAddress: bind, Port: 4236}).LocalURL(); got != want {
			t.Errorf("bound to %s: %s, want %s", bind, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"512kb": 512 << 10, "5mb": 5 << 20, "5MB": 5 << 20, "1.5mb": 3 << 19, "1gb": 1 << 30, "1048576": 1 << 20,
		"0": 0, "0.3kb": 307, "9223372036854775807": 1<<63 - 1,
	} {
		if got, ok := parseSize(text); !ok || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "5m", "5 mb", " 5mb", "5mb ", "mb", "-1", "+1", "1.5", "1.mb", ".5mb", "1e3", "0x10", "5tb", "5b", "5mib",
		"9223372036854775808", "9999999999999999999gb", "1,5mb", "٥mb",
	} {
		if got, ok := parseSize(text); ok {
			t.Errorf("parseSize(%q) = %d, want a refusal", text, got)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, text := range []string{"512kb", "5mb", "1.5MB", "1gb", "1024", "5m", "9223372036854775808", "0.000000001gb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseSize(text)
		if ok && n < 0 {
			t.Errorf("parseSize(%q) = %d", text, n)
		}
		if again, _ := parseSize(fmt.Sprint(n)); ok && again != n {
			t.Errorf("%q is %d bytes, and %d bytes are %d", text, n, n, again)
		}
	})
}

func TestNoTwoSettingsShareAName(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings() {
		if seen[s.env] || seen[s.flag] {
			t.Errorf("%s is there twice", s)
		}
		seen[s.env], seen[s.flag] = true, true
	}
	if got, want := reflect.TypeOf(NewFlags().Plugins[0]).Elem().NumField(), len(settings()); got != want {
		t.Errorf("%d flags, want %d", got, want)
	}
}
