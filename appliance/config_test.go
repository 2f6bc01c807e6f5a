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
		HTTPS:      HTTPS{Directory: "https://acme-v02.api.letsencrypt.org/directory"},
		Resolvers:  []string{"key", "jwk", "peer", "gatekeeper"},
		Gatekeeper: "http://localhost:4224",
		WebPorts:   []uint16{443},

		DeliverPrivate: true, MaxDeliveries: 16,
		Engine: "bolt", Data: "/home/ann/.local/state/holdmail", DiskFloor: 32 << 20,
		UploadLimit: 5 << 20, MaxRecipients: 1000, MessageTTL: 7 * 24 * time.Hour,
		Caps: storage.Caps{
			RecipientBytes: 16 << 20, TotalBytes: 256 << 20,
			RecipientMessages: 10_000, TotalMessages: 500_000, Challenges: 10_000,
		},
		Hooks: Hooks{
			MaxBody: 1 << 20, TTL: 7 * 24 * time.Hour, MaxLive: 64, PerAddress: 240, PerMinute: 1200,
			Caps: storage.HookCaps{Deliveries: 2000, Bytes: 32 << 20, HookDeliveries: 500, HookBytes: 8 << 20},
		},
		RateLimit: true, RateWindow: time.Minute, ReadPerSource: 300, ReadGlobal: 3000,
		DepositPerSource: 16 << 20, DepositGlobal: 64 << 20, MaxSources: 20_000, IPv6Bits: 64,
		MemoryBudget: 32 << 20, MaxConnections: 512, MaxWaiters: 256,
		ForwardingHeader: "x-forwarded-for", UnixMode: 0o660, UnixSource: "none",
		Onion:     Onion{Mode: 0o660, Circuits: true, CircuitsPerWindow: 300, ReadGlobal: 1000, DepositGlobal: 32 << 20},
		LogFormat: "auto",
	}
	if err != nil || len(warnings) != 0 || !reflect.DeepEqual(got, want) {
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
		"HOLDMAIL_TLS_CERT": "/etc/chain.pem", "HOLDMAIL_TLS_KEY": "/etc/key.pem", "HOLDMAIL_ACME_DOMAIN": "mail.example, b.example",
		"HOLDMAIL_ACME_ACCEPT_TERMS": "yes", "HOLDMAIL_ACME_EMAIL": "ann@example", "HOLDMAIL_ACME_DIRECTORY": "https://ca.example/dir",
		"HOLDMAIL_ACME_CA": "/etc/ca.pem", "HOLDMAIL_MEMORY_BUDGET": "64mb",
		"ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES": "70000000", "HOLDMAIL_RATE_LIMIT": "off", "HOLDMAIL_IPV6_PREFIX": "56", "HOLDMAIL_TRUSTED_PROXIES": "10.0.0.1, fd00::/8",
		"HOLDMAIL_FORWARDING_HEADER": "forwarded", "HOLDMAIL_PROXY_PROTOCOL": "on", "HOLDMAIL_LISTEN_UNIX": "/run/mail.sock",
		"HOLDMAIL_LISTEN_UNIX_MODE": "0600", "HOLDMAIL_LISTEN_UNIX_SOURCE": "headers",
		"HOLDMAIL_ONION_NAME": torProject, "HOLDMAIL_ONION_LISTEN": "/run/onion.sock", "HOLDMAIL_ONION_MODE": "0600",
		"HOLDMAIL_ONION_GROUP": "debian-tor", "HOLDMAIL_ONION_CIRCUITS": "off",
		"HOLDMAIL_RESOLVERS": "web, key", "HOLDMAIL_WEB_PORTS": "443, 8443", "HOLDMAIL_WEB_PRIVATE": "on",
		"ARCHON_DIDCOMM_TOR_PROXY": "localhost:9050", "HOLDMAIL_DELIVER_PRIVATE": "off",
		"CONCH_RELAY_SETUP": newKey(t).Setup().Code(),
	}
	needs := map[string][]string{
		"HOLDMAIL_PROXY_PROTOCOL": {"HOLDMAIL_TRUSTED_PROXIES=10.0.0.1"},
		"HOLDMAIL_TLS_CERT":       {"HOLDMAIL_TLS_KEY=/etc/key.pem"},
		"HOLDMAIL_TLS_KEY":        {"HOLDMAIL_TLS_CERT=/etc/chain.pem"},
		"HOLDMAIL_ACME_DOMAIN":    {"HOLDMAIL_ACME_ACCEPT_TERMS=yes"},
		"HOLDMAIL_ACME_HTTP_PORT": {"HOLDMAIL_ACME_DOMAIN=mail.example", "HOLDMAIL_ACME_ACCEPT_TERMS=yes"},
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
		byVariable, _, err := load(t, nil, append(needs[s.env], s.env+"="+value))
		if err != nil || reflect.DeepEqual(byVariable, plain) {
			t.Errorf("%s=%s changes nothing (%v)", s.env, value, err)
		}
		byFlag, _, err := load(t, []string{"--" + s.flag, value}, needs[s.env])
		if err != nil || !reflect.DeepEqual(byFlag, byVariable) {
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
		"resolvers":           {"key,,jwk", "key,key", "did:key", "KEY", "gatekeeper,", ""},
		"web-ports":           {"0", "443,", "65536", "443-445", ""},
		"web-private":         {"yes", ""},
		"tor-proxy":           {"9050", "localhost", "localhost:", "localhost:0", "localhost:65536", ":9050", "socks5://localhost:9050", "::1:9050", "a b:9050", ""},
		"deliver-private":     {"yes", ""},
		"max-deliveries":      {"0", "-1", "10001"},
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
		"tls-cert":            {"", "a\x00b"},
		"acme-domain":         {"localhost", "mail.example,", "*.example.org", "192.0.2.1", "mail.example.", "a b.example", "münchen.example", "-a.example", ""},
		"acme-accept-terms":   {"no", "YES", "1", ""},
		"acme-email":          {"ann", "ann@example,bob@example", "a b@example", ""},
		"acme-http-port":      {"0", "65536"},
		"rate-limit":          {"yes", "OFF", ""},
		"rate-limit-window":   {"0", "60s", "-1", "86401"},
		"read-per-source":     {"0", "-1", "NaN"}, "read-global": {"0", "3e3"},
		"deposit-per-source-bytes": {"0", "16mb"}, "deposit-global-bytes": {"0", "-67108864"},
		"max-sources": {"0"}, "ipv6-prefix": {"47", "129"},
		"trusted-proxies":    {"10.0.0.0/33", "proxy.example", "10.0.0.1;10.0.0.2", "::ffff:10.0.0.0/104", "fe80::1%eth0", ",", ""},
		"forwarding-header":  {"x-real-ip", "either", ""},
		"proxy-protocol":     {"v2", ""},
		"listen-unix":        {strings.Repeat("/x", 54), ""},
		"listen-unix-mode":   {"660x", "0170", "01777", ""},
		"listen-unix-source": {"forwarded", ""},
		"onion-name":         {"relay.example", "http://" + torProject, torProject + ":80", "3" + torProject[1:], ""},
		"onion-listen":       {"on", "onion.sock", "0.0.0.0:80", "[::]:80", "192.0.2.1:80", "localhost:80", "127.0.0.1", "127.0.0.1:0", strings.Repeat("/x", 54), ""},
		"onion-group":        {"a b", "-tor", "tor:x", ""},
		"onion-circuits":     {"haproxy", ""}, "onion-circuits-per-window": {"0"},
		"onion-read-global": {"0"}, "onion-deposit-global-bytes": {"0", "16mb"},
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
		{"equal is no contradiction", func(c *Config) { c.UploadLimit, c.MemoryBudget = c.Caps.RecipientBytes, 64<<20 }, nil},
		{"upload over a mailbox", func(c *Config) { c.UploadLimit, c.MemoryBudget = c.Caps.RecipientBytes+1, 64<<20 }, []string{"UPLOAD_LIMIT", "MAX_RECIPIENT_BYTES"}},
		{"mailbox over the total", func(c *Config) { c.Caps.TotalBytes = c.Caps.RecipientBytes - 1 }, []string{"MAX_RECIPIENT_BYTES", "MAX_TOTAL_BYTES"}},
		{"mailbox messages over the total", func(c *Config) { c.Caps.TotalMessages = 9999 }, []string{"MAX_RECIPIENT_MESSAGES", "MAX_MESSAGES"}},
		{"reads of one over all", func(c *Config) { c.ReadPerSource = 3001 }, []string{"READ_PER_SOURCE", "READ_GLOBAL"}},
		{"deposits of one over all", func(c *Config) { c.DepositGlobal = c.DepositPerSource - 1 }, []string{"DEPOSIT_PER_SOURCE", "DEPOSIT_GLOBAL"}},
		{"an upload over the memory", func(c *Config) { c.UploadLimit = 12 << 20 }, []string{"MEMORY_BUDGET", "UPLOAD_LIMIT"}},
		{"nobody to introduce", func(c *Config) { c.ProxyProtocol = true }, []string{"PROXY_PROTOCOL", "TRUSTED_PROXIES"}},
		{"a file over the map", func(c *Config) { c.Caps.TotalBytes = 1 << 30 }, []string{"MAX_TOTAL_BYTES", "MAX_MESSAGES", "32-bit"}},
		{"memory has no file", func(c *Config) { c.Caps.TotalBytes, c.Engine = 1<<30, "memory" }, nil},
		{"a certificate without its key", func(c *Config) { c.HTTPS.CertFile = "/c" }, []string{"TLS_CERT", "TLS_KEY"}},
		{"a key without its certificate", func(c *Config) { c.HTTPS.KeyFile = "/k" }, []string{"TLS_KEY", "TLS_CERT"}},
		{"two ways to a certificate", func(c *Config) {
			c.HTTPS = HTTPS{CertFile: "/c", KeyFile: "/k", Domains: []string{"mail.example"}, AcceptTerms: true}
		}, []string{"TLS_CERT", "ACME_DOMAIN"}},
		{"terms not accepted", func(c *Config) { c.HTTPS.Domains = []string{"mail.example"} }, []string{"ACME_DOMAIN", "ACCEPT_TERMS"}},
		{"challenges for nothing", func(c *Config) { c.HTTPS.ChallengePort = 80 }, []string{"ACME_HTTP_PORT", "ACME_DOMAIN"}},
		{"one port for two", func(c *Config) {
			c.HTTPS = HTTPS{Domains: []string{"mail.example"}, AcceptTerms: true, ChallengePort: c.Port}
		}, []string{"ACME_HTTP_PORT", "DIDCOMM_PORT"}},
		{"no home for certificates", func(c *Config) {
			c.HTTPS, c.Engine, c.Data = HTTPS{Domains: []string{"mail.example"}, AcceptTerms: true}, "memory", ""
		}, []string{"HOLDMAIL_DATA", "HOME"}},
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
	_, got, err := load(t, nil, []string{"HOLDMAIL_MAX_MESAGES=5", "ARCHON_NODE_NAME=x", "HOLDMAIL_DATA=/x", "HOLDMAIL_PULL_RELAY=https://r"})
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

const torProject = "2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion"

func TestAnOnionIsTheEndpointOfARelayWithoutAPublicURL(t *testing.T) {
	for _, tt := range []struct{ name, public, base, want string }{
		{"alone", "", "/didcomm", "http://" + torProject + "/didcomm"},
		{"without a base path", "", "/", "http://" + torProject},
		{"beside a public URL", "https://relay.example", "/didcomm", "https://relay.example/didcomm"},
	} {
		c, _, err := load(t, nil, []string{"HOLDMAIL_ONION_NAME=" + strings.ToUpper(torProject), "HOLDMAIL_PUBLIC_URL=" + tt.public, "HOLDMAIL_BASE_PATH=" + tt.base})
		if err != nil || c.Endpoint() != tt.want {
			t.Errorf("%s: published as %q, %v; want %q", tt.name, c.Endpoint(), err, tt.want)
		}
	}
}

func TestWhereOnionCallersComeIn(t *testing.T) {
	for _, tt := range []struct {
		name     string
		environ  []string
		want     string
		warnings int
	}{
		{"no service manager", nil, "", 0},
		{"a runtime folder", []string{"RUNTIME_DIRECTORY=/run/holdmail:/run/other"}, "/run/holdmail/onion.sock", 0},
		{"one that is not absolute", []string{"RUNTIME_DIRECTORY=run"}, "", 0},
		{"off", []string{"RUNTIME_DIRECTORY=/run/holdmail", "HOLDMAIL_ONION_LISTEN=off"}, "", 0},
		{"a path", []string{"RUNTIME_DIRECTORY=/run/holdmail", "HOLDMAIL_ONION_LISTEN=/run/tor/../mail.sock"}, "/run/mail.sock", 0},
		{"a port, on which anybody here may be Tor", []string{"HOLDMAIL_ONION_LISTEN=127.0.0.1:4237"}, "127.0.0.1:4237", 1},
		{"IPv6", []string{"HOLDMAIL_ONION_LISTEN=[::1]:4237"}, "[::1]:4237", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, warnings, err := load(t, nil, tt.environ)
			if err != nil || c.Onion.Listen != tt.want || len(warnings) != tt.warnings {
				t.Errorf("listens at %q, warns of %q, %v; want %q and %d warnings", c.Onion.Listen, warnings, err, tt.want, tt.warnings)
			}
		})
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

func TestWithHTTPSTheRelayIsReachedByTheNameOfItsCertificate(t *testing.T) {
	acme := []string{"HOLDMAIL_ACME_DOMAIN=Mail.example,b.example", "HOLDMAIL_ACME_ACCEPT_TERMS=yes"}
	files := []string{"HOLDMAIL_TLS_CERT=/c", "HOLDMAIL_TLS_KEY=/k"}
	for _, tt := range []struct {
		name            string
		environ         []string
		endpoint, local string
	}{
		{"ACME", acme, "https://mail.example/didcomm", "https://mail.example/didcomm"},
		{"ACME, published elsewhere", append(acme, "HOLDMAIL_PUBLIC_URL=https://c.example:8443"), "https://c.example:8443/didcomm", "https://c.example:8443/didcomm"},
		{"files", files, "", "https://127.0.0.1:4236"},
		{"files, published", append(files, "HOLDMAIL_PUBLIC_URL=https://mail.example"), "https://mail.example/didcomm", "https://mail.example/didcomm"},
	} {
		c, _, err := load(t, nil, tt.environ)
		if err != nil || c.Endpoint() != tt.endpoint || c.LocalURL() != tt.local {
			t.Errorf("%s: published %q, here %q, %v; want %q and %q", tt.name, c.Endpoint(), c.LocalURL(), err, tt.endpoint, tt.local)
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
