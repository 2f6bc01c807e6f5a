package appliance

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/bolt"
	"github.com/holdmail/holdmail/storage/clock"
	"github.com/holdmail/holdmail/storage/memory"
)

// challengeTTL is fixed (relay spec §2.3).
const challengeTTL = 5 * time.Minute

// stores is what an engine gives to those who asked for something.
type stores struct {
	mailbox    mailbox.Store
	challenges auth.Challenges
	hooks      hookbox.Store
	io.Closer
}

// openStores opens the engine that c names.
func openStores(c Config, log *slog.Logger) (stores, error) {
	options := storage.Options{
		Caps: c.Caps, MessageTTL: c.MessageTTL, ChallengeTTL: challengeTTL,
		Hooks: c.Hooks.Caps, HookTTL: c.Hooks.TTL,
		Clock: clock.System{},
	}
	switch c.Engine {
	case "memory":
		s := memory.New(options)
		return stores{s.Mailbox(), s.Challenges(), s.Hooks(), s}, nil
	case "bolt":
		return openBolt(c, options, log)
	}
	return stores{}, fmt.Errorf("no engine is called %q", c.Engine)
}

// openBolt opens the database, in a data folder that only its owner may enter.
func openBolt(c Config, options storage.Options, log *slog.Logger) (stores, error) {
	// A deposit is on the disk only if the folder it is in is: a new one is synced, too.
	if err := durable.MakeFolder(c.Data); err != nil {
		return stores{}, fmt.Errorf("creating the data folder: %w", err)
	}
	s, err := bolt.Open(dataFile(c), bolt.Options{Options: options, DiskFloor: c.DiskFloor, Log: log})
	if err != nil {
		return stores{}, err
	}
	return stores{s.Mailbox(), s.Challenges(), s.Hooks(), s}, nil
}

// commitBytes is what an engine copies of bodies at one time, at most.
func commitBytes(c Config) int64 {
	if c.Engine != "bolt" {
		return 0
	}
	return bolt.CommitBytes(max(c.UploadLimit, c.Hooks.sealedBytes()))
}

// dataFile is where the mail is kept; "" for an engine without a file.
func dataFile(c Config) string {
	if c.Engine != "bolt" {
		return ""
	}
	return filepath.Join(c.Data, "holdmail.db")
}
