package appliance

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/holdmail/holdmail/storage"
)

// Config is every setting of the relay, valid and free of contradictions when
// it comes from Load.
type Config struct {
	Version string // what the program calls itself; not a setting

	Port        uint16 // 0 takes a free one, which Load never asks for
	BindAddress string // an address or a host name, without a port
	BasePath    string // "" or "/something": where the calls are served besides "/"
	PublicURL   string // without a trailing slash; "" when the relay has none

	Gatekeeper string // base URL, without a trailing slash

	Engine    string // "bolt" or "memory"
	Data      string // folder of the database
	DiskFloor int64  // bytes of free disk that deposits leave alone

	UploadLimit   int64 // bytes, inclusive
	MaxRecipients int   // per envelope
	MessageTTL    time.Duration
	Caps          storage.Caps

	LogLevel  slog.Level
	LogFormat string // "auto", "text" or "json"
}

// Endpoint is where senders reach this relay's DIDComm door, as it is published
// in a DID document; "" without a public URL.
func (c Config) Endpoint() string {
	if c.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(c.PublicURL, c.BasePath) + c.BasePath
}

// LocalURL is where a caller on this machine reaches the relay.
func (c Config) LocalURL() string {
	host := c.BindAddress
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
}

// setting is one row of the table that the environment, the flags, --help and
// README's table all come from.
type setting struct {
	env, flag string
	byDefault string // as one would write it; "" has no value unless set
	help      string
	accepts
}

// accepts says which texts a setting takes, and keeps a good one.
type accepts struct {
	want string                            // completes "want ..."
	set  func(c *Config, text string) bool // false: not one of those texts
}

func settings() []setting {
	return []setting{
		{"ARCHON_DIDCOMM_PORT", "port", "4236", "port to listen on",
			number(1, math.MaxUint16, func(c *Config) *uint16 { return &c.Port })},
		{"ARCHON_BIND_ADDRESS", "bind", "0.0.0.0", "address to listen on",
			host(func(c *Config) *string { return &c.BindAddress })},
		{"HOLDMAIL_BASE_PATH", "base-path", "/didcomm", "path the calls are served under, besides /",
			basePath(func(c *Config) *string { return &c.BasePath })},
		{"HOLDMAIL_PUBLIC_URL", "public-url", "", "URL the world reaches this relay by, without the base path",
			webURL(func(c *Config) *string { return &c.PublicURL })},
		{"ARCHON_GATEKEEPER_URL", "gatekeeper", "http://localhost:4224", "Gatekeeper that resolves DIDs other than did:key",
			webURL(func(c *Config) *string { return &c.Gatekeeper })},
		{"ARCHON_DIDCOMM_DB", "db", "bolt", "where mail is kept: bolt is a file, memory forgets at the end",
			oneOf(func(c *Config) *string { return &c.Engine }, "bolt", "memory").but("redis is not in this version yet")},
		{"HOLDMAIL_DATA", "data", "", "folder of the database; else $STATE_DIRECTORY, $XDG_STATE_HOME/holdmail, ~/.local/state/holdmail",
			folder(func(c *Config) *string { return &c.Data })},
		{"HOLDMAIL_DISK_FLOOR", "disk-floor", "32mb", "free disk that deposits leave alone",
			size(0, maxBytes, func(c *Config) *int64 { return &c.DiskFloor })},
		{"ARCHON_DIDCOMM_UPLOAD_LIMIT", "upload-limit", "5mb", "largest body of a deposit",
			size(1, 1<<30, func(c *Config) *int64 { return &c.UploadLimit })},
		{"HOLDMAIL_MAX_RECIPIENTS", "max-recipients", "1000", "recipients of one envelope",
			number(1, 100_000, func(c *Config) *int { return &c.MaxRecipients })},
		{"ARCHON_DIDCOMM_MESSAGE_TTL_MS", "message-ttl-ms", "604800000", "milliseconds that unfetched mail is kept",
			milliseconds(100*365*24*time.Hour, func(c *Config) *time.Duration { return &c.MessageTTL })},
		{"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES", "max-recipient-bytes", "16777216", "bytes one mailbox may hold",
			number(1, maxBytes, func(c *Config) *int64 { return &c.Caps.RecipientBytes })},
		{"ARCHON_DIDCOMM_MAX_TOTAL_BYTES", "max-total-bytes", "268435456", "bytes all mailboxes may hold together",
			number(1, maxBytes, func(c *Config) *int64 { return &c.Caps.TotalBytes })},
		{"HOLDMAIL_MAX_RECIPIENT_MESSAGES", "max-recipient-messages", "10000", "messages one mailbox may hold",
			number(1, maxMessages, func(c *Config) *int64 { return &c.Caps.RecipientMessages })},
		{"HOLDMAIL_MAX_MESSAGES", "max-messages", "500000", "messages all mailboxes may hold together",
			number(1, maxMessages, func(c *Config) *int64 { return &c.Caps.TotalMessages })},
		{"ARCHON_DIDCOMM_MAX_CHALLENGES", "max-challenges", "10000", "challenges that may be live at one time",
			number(1, 10_000_000, func(c *Config) *int { return &c.Caps.Challenges })},
		{"HOLDMAIL_LOG_LEVEL", "log-level", "info", "what is logged: this and what is graver",
			level(func(c *Config) *slog.Level { return &c.LogLevel })},
		{"HOLDMAIL_LOG_FORMAT", "log-format", "auto", "how it is logged; auto is text, which the journal gets without a time",
			oneOf(func(c *Config) *string { return &c.LogFormat }, "auto", "text", "json")},
	}
}

// String names the setting in both its spellings.
func (s setting) String() string { return fmt.Sprintf("%s (--%s)", s.env, s.flag) }

// Bounds far above any disk this runs on, and far below the end of an int64.
const (
	maxBytes    = 1 << 50
	maxMessages = 1_000_000_000
)

// Flags is the table as kong flags. They are text here, so that Load can name
// every wrong value and not the first alone. Embed it in a command.
type Flags struct{ kong.Plugins }

// NewFlags returns flags of which none is given yet.
func NewFlags() Flags {
	var fields []reflect.StructField
	for i, s := range settings() {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Setting%d", i),
			Type: reflect.TypeFor[*string](),
			Tag:  reflect.StructTag(fmt.Sprintf("name:%q placeholder:%q help:%q", s.flag, s.placeholder(), s.help+" ("+s.env+")")),
		})
	}
	return Flags{kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// given returns the text of the i-th setting's flag; ok is false when it was left out.
func (f Flags) given(i int) (text string, ok bool) {
	if len(f.Plugins) == 0 {
		return "", false
	}
	given := reflect.ValueOf(f.Plugins[0]).Elem().Field(i).Interface().(*string)
	if given == nil {
		return "", false
	}
	return *given, true
}

// placeholder stands for the value in --help.
func (s setting) placeholder() string {
	if s.byDefault == "" {
		return "..."
	}
	return s.byDefault
}

// Load reads every setting: a flag beats the environment, which beats the
// default. environ is as os.Environ gives it; an empty variable is unset.
// The error names every wrong value and every contradiction. The warnings are
// one sentence each.
func Load(flags Flags, environ []string) (c Config, warnings []string, err error) {
	var (
		env  = parseEnviron(environ)
		bad  = map[string]bool{}
		errs []error
	)
	for i, s := range settings() {
		text, given := flags.given(i)
		if !given {
			text, given = env[s.env], env[s.env] != ""
		}
		if !given {
			text, given = s.byDefault, s.byDefault != ""
		}
		if given && !s.set(&c, text) {
			bad[s.env] = true
			errs = append(errs, fmt.Errorf("%s is %q: want %s", s, text, s.want))
		}
	}
	if c.Data == "" && !bad["HOLDMAIL_DATA"] {
		c.Data = stateFolder(env)
	}
	if errs = append(errs, contradictions(c, bad, math.MaxInt)...); errs != nil {
		return Config{}, nil, fmt.Errorf("wrong settings:\n%w", errors.Join(errs...))
	}
	return c, unknown(env), nil
}
