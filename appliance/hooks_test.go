package appliance

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/appliance/seal"
	"github.com/holdmail/holdmail/storage/storagetest"
)

// What an engine gives is what the hookbox asks for, method for method.
var (
	_ hookbox.Store         = storagetest.HookStore(nil)
	_ storagetest.HookStore = hookbox.Store(nil)
)

func newKey(t testing.TB) seal.Key {
	t.Helper()
	key, err := seal.NewKey(false)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTheSetupCodeMayBeASystemdCredential(t *testing.T) {
	key, other := newKey(t), newKey(t)
	for _, tt := range []struct {
		name, credential string
		environ          []string
		keyID, err       string
	}{
		{"a credential", key.Setup().Code() + "\n", nil, key.Setup().KeyID(), ""},
		{"the variable counts first", key.Setup().Code(), []string{"CONCH_RELAY_SETUP=" + other.Setup().Code()}, other.Setup().KeyID(), ""},
		{"a malformed credential", "hm1.x.y", nil, "", "the credential relay-setup: want a setup code"},
		{"a malformed variable", key.Setup().Code(), []string{"CONCH_RELAY_SETUP=hm1.x.y"}, "", `CONCH_RELAY_SETUP (--relay-setup) is "hm1.x.y": want a setup code`},
		{"none", "", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			if tt.credential != "" {
				if err := os.WriteFile(filepath.Join(folder, "relay-setup"), []byte(tt.credential), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, _, err := load(t, nil, append(tt.environ, "CREDENTIALS_DIRECTORY="+folder))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Load = %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || c.Hooks.On() != (tt.keyID != "") || c.Hooks.On() && c.Hooks.Setup.KeyID() != tt.keyID {
				t.Errorf("door %v, %v; want key %q", c.Hooks.Setup, err, tt.keyID)
			}
		})
	}
}

func TestTheWebhookDoorsSettingsMustFitTogether(t *testing.T) {
	code := "CONCH_RELAY_SETUP=" + newKey(t).Setup().Code()
	for _, tt := range []struct{ name, environ, want string }{
		{"more for one address than for all", "HOLDMAIL_HOOK_ADDRESS_DELIVERIES=2001", "HOLDMAIL_HOOK_ADDRESS_DELIVERIES (--hook-address-deliveries) is 2001 and HOLDMAIL_HOOK_MAX_DELIVERIES"},
		{"more bytes for one address than for all", "HOLDMAIL_HOOK_ADDRESS_BYTES=33mb", "HOLDMAIL_HOOK_ADDRESS_BYTES (--hook-address-bytes) is 34603008 and HOLDMAIL_HOOK_MAX_BYTES"},
		{"an address faster than all", "HOLDMAIL_HOOK_RATE=239", "HOLDMAIL_HOOK_RATE_PER_ADDRESS (--hook-rate-per-address) is 240 and HOLDMAIL_HOOK_RATE"},
		{"a body that no address holds", "HOLDMAIL_HOOK_MAX_BODY=4mb", "HOLDMAIL_HOOK_MAX_BODY (--hook-max-body), sealed at its largest, is "},
		{"a body that no memory holds", "HOLDMAIL_HOOK_MAX_BODY=25mb", "HOLDMAIL_MEMORY_BUDGET (--memory-budget) is 33554432 and HOLDMAIL_HOOK_MAX_BODY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := load(t, nil, []string{code, tt.environ}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load = %v, want %q", err, tt.want)
			}
			if _, _, err := load(t, nil, []string{tt.environ}); err != nil {
				t.Errorf("without a door: Load = %v, want nil", err)
			}
		})
	}
	large := []string{code, "HOLDMAIL_HOOK_MAX_BODY=25mb", "HOLDMAIL_HOOK_MAX_BYTES=400mb", "HOLDMAIL_MEMORY_BUDGET=256mb"}
	if _, _, err := load(t, nil, large); err != nil {
		t.Errorf("large bodies, with all that they need: Load = %v, want nil", err)
	}
}

// An operator sees at the start whose relay it is, and what senders are to call.
func TestTheStartTellsWhoseWebhooksAreKept(t *testing.T) {
	for url, want := range map[string]string{
		"":                              `url="as each sender calls it"`,
		"https://relay.example/didcomm": "url=https://relay.example\n",
	} {
		var log bytes.Buffer
		c := testConfig(t)
		c.Engine, c.PublicURL = "memory", url
		r := hookRelay{key: newKey(t), client: http.DefaultClient, t: t}.again(c, func(a *Appliance) {
			a.log = slog.New(slog.NewTextHandler(&log, nil))
		})
		r.stop()
		if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "key="+r.key.Setup().KeyID()) {
			t.Errorf("the log says %s, want %s and the key", &log, want)
		}
	}
}
