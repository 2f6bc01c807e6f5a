package appliance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/door/webhook"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/appliance/seal"
	"github.com/holdmail/holdmail/storage"
)

// Hooks are the settings of the webhook door.
type Hooks struct {
	Setup      *seal.Setup // of the home computer; nil: there is no webhook door
	MaxBody    int64       // bytes, inclusive
	Caps       storage.HookCaps
	TTL        time.Duration
	MaxLive    int   // senders that wait for an answer at one time
	PerAddress int64 // deliveries a minute
	PerMinute  int64 // deliveries to all addresses
}

// On reports whether there is a webhook door.
func (h Hooks) On() bool { return h.Setup != nil }

// sealedBytes is the size of the largest delivery, sealed; 0 without a door.
func (h Hooks) sealedBytes() int64 {
	if !h.On() {
		return 0
	}
	return webhook.PlaintextFor(h.MaxBody) + hookbox.Overhead
}

// memory is what the largest delivery holds; 0 without a door.
func (h Hooks) memory() int64 {
	if !h.On() {
		return 0
	}
	return webhook.MemoryFor(h.MaxBody)
}

// setupCode takes what holdmail pair prints.
func setupCode(field func(*Config) **seal.Setup) accepts {
	return accepts{
		"a setup code as holdmail pair prints it",
		func(c *Config, text string) bool {
			setup, err := seal.ParseSetup(text)
			if err == nil {
				*field(c) = &setup
			}
			return err == nil
		},
	}
}

const (
	// credentialName is the systemd credential that may hold the setup code.
	credentialName = "relay-setup"
	// maxCredential bounds it, in bytes: a hybrid code is under two thousand.
	maxCredential = 8 << 10
)

// credential is the setup code that the service manager passes, or nil without one.
func credential(env map[string]string) (*seal.Setup, error) {
	folder := env["CREDENTIALS_DIRECTORY"]
	if folder == "" {
		return nil, nil
	}
	file, err := os.Open(filepath.Join(folder, credentialName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the credential %s: %w", credentialName, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxCredential))
	if err != nil {
		return nil, fmt.Errorf("reading the credential %s: %w", credentialName, err)
	}
	setup, err := seal.ParseSetup(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("the credential %s: want a setup code as holdmail pair prints it", credentialName)
	}
	return &setup, nil
}
