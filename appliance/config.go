package appliance

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/holdmail/holdmail/appliance/seal"
	"github.com/holdmail/holdmail/appliance/source"
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
	OnionName   string // of the relay's own onion service, in lower case; "" when it has none
	HTTPS       HTTPS

	Resolvers  []string // those that are asked for DIDs, in this order
	Gatekeeper string   // base URL, without a trailing slash
	WebPorts   []uint16 // that did:web may name
	WebPrivate bool     // did:web may lead to private addresses

	TorProxy       string // host and port of the SOCKS5 proxy for onion services, "" for none
	DeliverPrivate bool   // deliveries may go to private addresses
	MaxDeliveries  int    // to other relays, under way at one time

	Engine    string // "bolt" or "memory"
	Data      string // folder of the database
	DiskFloor int64  // bytes of free disk that deposits leave alone

	UploadLimit    int64 // bytes, inclusive
	MaxRecipients  int   // per envelope
	MemoryBudget   int64 // bytes that requests under way may hold together
	MaxConnections int   // open at one time
	MaxWaiters     int   // fetches that wait at one time
	MessageTTL     time.Duration
	Caps           storage.Caps

	Hooks Hooks

	RateLimit        bool          // false: no budget is kept
	RateWindow       time.Duration // in which every budget refills
	ReadPerSource    int64         // requests
	ReadGlobal       int64         // requests
	DepositPerSource int64         // bytes
	DepositGlobal    int64         // bytes
	MaxSources       int           // remembered at one time
	IPv6Bits         int           // of an IPv6 address that stand for one source

	TrustedProxies   []netip.Prefix
	ForwardingHeader string      // a source.Header
	ProxyProtocol    bool        // trusted proxies introduce each connection on the port
	UnixSocket       string      // a path, "" for none
	UnixMode         fs.FileMode // of the socket
	UnixSource       string      // "none", "headers" or "proxy-protocol"
	Onion            Onion

	LogLevel  slog.Level
	LogFormat string // "auto", "text" or "json"
}

// Endpoint is where senders reach this relay's DIDComm door, as it is published
// in a DID document: by the public URL, else by the onion name; "" with neither.
func (c Config) Endpoint() string {
	switch {
	case c.PublicURL != "":
		return strings.TrimSuffix(c.PublicURL, c.BasePath) + c.BasePath
	case c.OnionName != "":
		return "http://" + c.OnionName + c.BasePath
	}
	return ""
}

// LocalURL is where a caller on this machine reaches the relay. With HTTPS that
// is the published endpoint, if there is one: the certificate is for its name.
func (c Config) LocalURL() string {
	scheme, host := "http", c.BindAddress
	if c.HTTPS.On() {
		if c.PublicURL != "" {
			return c.Endpoint()
		}
		scheme = "https"
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
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
		{"HOLDMAIL_PUBLIC_URL", "public-url", "", "URL the world reaches this relay by, without the base path; else https:// and the first ACME domain",
			webURL(func(c *Config) *string { return &c.PublicURL })},
		{"HOLDMAIL_ONION_NAME", "onion-name", "", "name of this relay's onion service, which it is reached by where there is no public URL",
			onionName(func(c *Config) *string { return &c.OnionName })},
		{"HOLDMAIL_TLS_CERT", "tls-cert", "", "file of a certificate and its chain, for HTTPS on the port; read again when it changes",
			file(func(c *Config) *string { return &c.HTTPS.CertFile })},
		{"HOLDMAIL_TLS_KEY", "tls-key", "", "file of that certificate's key",
			file(func(c *Config) *string { return &c.HTTPS.KeyFile })},
		{"HOLDMAIL_ACME_DOMAIN", "acme-domain", "", "names to have a certificate for by ACME, for HTTPS on the port (docs/https.md)",
			domains(func(c *Config) *[]string { return &c.HTTPS.Domains })},
		{"HOLDMAIL_ACME_ACCEPT_TERMS", "acme-accept-terms", "", "yes accepts the ACME server's terms of service",
			yes(func(c *Config) *bool { return &c.HTTPS.AcceptTerms })},
		{"HOLDMAIL_ACME_EMAIL", "acme-email", "", "address that the ACME server may write to",
			email(func(c *Config) *string { return &c.HTTPS.Email })},
		{"HOLDMAIL_ACME_DIRECTORY", "acme-directory", "https://acme-v02.api.letsencrypt.org/directory", "the ACME server's directory",
			webURL(func(c *Config) *string { return &c.HTTPS.Directory })},
		{"HOLDMAIL_ACME_CA", "acme-ca", "", "file of the CA that vouches for the ACME server; else the system's",
			file(func(c *Config) *string { return &c.HTTPS.CAFile })},
		{"HOLDMAIL_ACME_HTTP_PORT", "acme-http-port", "", "port to answer ACME challenges on by plain HTTP, besides those by TLS on the port",
			number(1, math.MaxUint16, func(c *Config) *uint16 { return &c.HTTPS.ChallengePort })},
		{"HOLDMAIL_RESOLVERS", "resolvers", "key,jwk,peer,gatekeeper", "who is asked for keys: the first that is for the DID's method; gatekeeper is for all (docs/resolving.md)",
			someOf(func(c *Config) *[]string { return &c.Resolvers }, byKey, byJWK, byPeer, byWeb, byGatekeeper)},
		{"ARCHON_GATEKEEPER_URL", "gatekeeper", "http://localhost:4224", "where that Gatekeeper is",
			webURL(func(c *Config) *string { return &c.Gatekeeper })},
		{"HOLDMAIL_WEB_PORTS", "web-ports", "443", "ports that the resolver web may go to",
			ports(func(c *Config) *[]uint16 { return &c.WebPorts })},
		{"HOLDMAIL_WEB_PRIVATE", "web-private", "off", "it may go to addresses that are not on the public Internet",
			onOff(func(c *Config) *bool { return &c.WebPrivate })},
		{"ARCHON_DIDCOMM_TOR_PROXY", "tor-proxy", "", "Tor's SOCKS5 port, by which mail is delivered to onion services (docs/deliver.md)",
			hostPort(func(c *Config) *string { return &c.TorProxy })},
		{"HOLDMAIL_DELIVER_PRIVATE", "deliver-private", "on", "mail may be delivered to addresses that are not on the public Internet",
			onOff(func(c *Config) *bool { return &c.DeliverPrivate })},
		{"HOLDMAIL_MAX_DELIVERIES", "max-deliveries", "16", "deliveries to other relays that may be under way at one time; one source has a tenth",
			number(1, 10_000, func(c *Config) *int { return &c.MaxDeliveries })},
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
		{"HOLDMAIL_MEMORY_BUDGET", "memory-budget", "32mb", "memory that requests under way may hold together; one source, or a /48 of IPv6, has a quarter",
			size(1, maxBytes, func(c *Config) *int64 { return &c.MemoryBudget })},
		{"HOLDMAIL_MAX_CONNECTIONS", "max-connections", "512", "connections that may be open at one time; one source, or a /48 of IPv6, has a quarter",
			number(8, 100_000, func(c *Config) *int { return &c.MaxConnections })},
		{"HOLDMAIL_MAX_WAITERS", "max-waiters", "256", "fetches that may wait for mail at one time, over at most half of the connections; one source has a tenth; 0 lets none wait",
			number(0, 100_000, func(c *Config) *int { return &c.MaxWaiters })},
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
		{"CONCH_RELAY_SETUP", "relay-setup", "", "setup code of the home computer that webhooks are kept for (docs/webhooks.md); else the systemd credential relay-setup; without one there is no webhook door",
			setupCode(func(c *Config) **seal.Setup { return &c.Hooks.Setup })},
		{"HOLDMAIL_HOOK_MAX_BODY", "hook-max-body", "1mb", "largest body of a webhook's delivery",
			size(1, 1<<28, func(c *Config) *int64 { return &c.Hooks.MaxBody })},
		{"HOLDMAIL_HOOK_MAX_DELIVERIES", "hook-max-deliveries", "2000", "deliveries that may wait for the home computer",
			number(1, maxMessages, func(c *Config) *int64 { return &c.Hooks.Caps.Deliveries })},
		{"HOLDMAIL_HOOK_MAX_BYTES", "hook-max-bytes", "32mb", "bytes that they may have together, sealed",
			size(1, maxBytes, func(c *Config) *int64 { return &c.Hooks.Caps.Bytes })},
		{"HOLDMAIL_HOOK_ADDRESS_DELIVERIES", "hook-address-deliveries", "500", "deliveries to one address that may wait",
			number(1, maxMessages, func(c *Config) *int64 { return &c.Hooks.Caps.HookDeliveries })},
		{"HOLDMAIL_HOOK_ADDRESS_BYTES", "hook-address-bytes", "", "bytes that those may have, sealed; else a quarter of all",
			size(1, maxBytes, func(c *Config) *int64 { return &c.Hooks.Caps.HookBytes })},
		{"HOLDMAIL_HOOK_TTL", "hook-ttl", "604800", "seconds that a delivery waits before it expires",
			seconds(100*365*24*time.Hour, func(c *Config) *time.Duration { return &c.Hooks.TTL })},
		{"HOLDMAIL_HOOK_MAX_LIVE", "hook-max-live", "64", "senders that may wait for the home computer's answer at one time, over at most an eighth of the connections; others are told that their delivery is kept",
			number(0, 100_000, func(c *Config) *int { return &c.Hooks.MaxLive })},
		{"HOLDMAIL_RATE_LIMIT", "rate-limit", "on", "the budgets below; off for those who sit behind another limiter",
			onOff(func(c *Config) *bool { return &c.RateLimit })},
		{"ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW", "rate-limit-window", "60", "seconds in which a spent budget refills",
			seconds(24*time.Hour, func(c *Config) *time.Duration { return &c.RateWindow })},
		{"ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE", "read-per-source", "300", "requests other than deposits that one source may make in a window",
			number(1, maxRequests, func(c *Config) *int64 { return &c.ReadPerSource })},
		{"ARCHON_DRAWBRIDGE_DIDCOMM_READ_GLOBAL", "read-global", "3000", "requests other than deposits that all may make together",
			number(1, maxRequests, func(c *Config) *int64 { return &c.ReadGlobal })},
		{"ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES", "deposit-per-source-bytes", "16777216", "bytes that one source may deposit in a window, counted per recipient",
			number(1, maxBytes, func(c *Config) *int64 { return &c.DepositPerSource })},
		{"ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES", "deposit-global-bytes", "67108864", "bytes that all may deposit together",
			number(1, maxBytes, func(c *Config) *int64 { return &c.DepositGlobal })},
		{"HOLDMAIL_HOOK_RATE_PER_ADDRESS", "hook-rate-per-address", "240", "deliveries to one webhook address a minute",
			number(1, maxRequests, func(c *Config) *int64 { return &c.Hooks.PerAddress })},
		{"HOLDMAIL_HOOK_RATE", "hook-rate", "1200", "deliveries to all of them together a minute",
			number(1, maxRequests, func(c *Config) *int64 { return &c.Hooks.PerMinute })},
		{"HOLDMAIL_MAX_SOURCES", "max-sources", "20000", "sources whose budgets are remembered; more share the global ones",
			number(1, 10_000_000, func(c *Config) *int { return &c.MaxSources })},
		{"HOLDMAIL_IPV6_PREFIX", "ipv6-prefix", "64", "bits of an IPv6 address that stand for one source",
			number(48, 128, func(c *Config) *int { return &c.IPv6Bits })},
		{"HOLDMAIL_TRUSTED_PROXIES", "trusted-proxies", "", "proxies that are believed when they tell whose request they pass on",
			prefixes(func(c *Config) *[]netip.Prefix { return &c.TrustedProxies })},
		{"HOLDMAIL_FORWARDING_HEADER", "forwarding-header", string(source.ForwardedFor), "header that these proxies tell it by; the other is not read",
			oneOf(func(c *Config) *string { return &c.ForwardingHeader }, string(source.ForwardedFor), string(source.Forwarded))},
		{"HOLDMAIL_PROXY_PROTOCOL", "proxy-protocol", "off", "they tell it by the PROXY protocol instead, on the port",
			onOff(func(c *Config) *bool { return &c.ProxyProtocol })},
		{"HOLDMAIL_LISTEN_UNIX", "listen-unix", "", "Unix socket to listen on too",
			socketPath(func(c *Config) *string { return &c.UnixSocket })},
		{"HOLDMAIL_LISTEN_UNIX_MODE", "listen-unix-mode", "0660", "its permissions: who may call",
			fileMode(func(c *Config) *fs.FileMode { return &c.UnixMode })},
		{"HOLDMAIL_LISTEN_UNIX_SOURCE", "listen-unix-source", "none", "what its callers are believed about whose request they pass on",
			oneOf(func(c *Config) *string { return &c.UnixSource }, "none", "headers", "proxy-protocol")},
		{"HOLDMAIL_ONION_LISTEN", "onion-listen", "auto", "where Tor brings the callers of the onion service: auto is onion.sock in $RUNTIME_DIRECTORY, if that is set",
			onionListen(func(c *Config) *string { return &c.Onion.Listen })},
		{"HOLDMAIL_ONION_MODE", "onion-mode", "0660", "permissions of that socket: who may call",
			fileMode(func(c *Config) *fs.FileMode { return &c.Onion.Mode })},
		{"HOLDMAIL_ONION_GROUP", "onion-group", "", "group to give that socket to, where no systemd does (docs/tor.md); the relay must be in it, and Tor's user have it as its first",
			groupOf(func(c *Config) *string { return &c.Onion.Group })},
		{"HOLDMAIL_ONION_CIRCUITS", "onion-circuits", "on", "Tor tells the circuits apart (HiddenServiceExportCircuitID haproxy), each of which is a source; it must, where this is on",
			onOff(func(c *Config) *bool { return &c.Onion.Circuits })},
		{"HOLDMAIL_ONION_CIRCUITS_PER_WINDOW", "onion-circuits-per-window", "300", "circuits that may make their first call in a window",
			number(1, maxRequests, func(c *Config) *int64 { return &c.Onion.CircuitsPerWindow })},
		{"HOLDMAIL_ONION_READ_GLOBAL", "onion-read-global", "1000", "requests other than deposits that all onion callers may make together, beside all others",
			number(1, maxRequests, func(c *Config) *int64 { return &c.Onion.ReadGlobal })},
		{"HOLDMAIL_ONION_DEPOSIT_GLOBAL_BYTES", "onion-deposit-global-bytes", "33554432", "bytes that all onion callers may deposit together, beside all others",
			number(1, maxBytes, func(c *Config) *int64 { return &c.Onion.DepositGlobal })},
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
	maxRequests = 1_000_000_000
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
	if c.Hooks.Caps.HookBytes == 0 && !bad["HOLDMAIL_HOOK_ADDRESS_BYTES"] {
		c.Hooks.Caps.HookBytes = max(c.Hooks.Caps.Bytes/4, 1)
	}
	if c.Hooks.Setup == nil && !bad["CONCH_RELAY_SETUP"] {
		if c.Hooks.Setup, err = credential(env); err != nil {
			errs = append(errs, err)
		}
	}
	if c.PublicURL == "" && len(c.HTTPS.Domains) > 0 {
		c.PublicURL = "https://" + c.HTTPS.Domains[0]
	}
	if c.Onion.Listen == autoListen {
		c.Onion.Listen = onionSocket(env)
	}
	if errs = append(errs, contradictions(c, bad, math.MaxInt)...); errs != nil {
		return Config{}, nil, fmt.Errorf("wrong settings:\n%w", errors.Join(errs...))
	}
	return c, append(unknown(env), c.Onion.warnings()...), nil
}
