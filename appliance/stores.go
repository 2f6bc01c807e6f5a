package appliance

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/bolt"
	"github.com/holdmail/holdmail/storage/clock"
	"github.com/holdmail/holdmail/storage/memory"
)

// challengeTTL is fixed (relay spec §2.3).
const challengeTTL = 5 * time.Minute

// hookCaps bound what waits for the home computer (the webhook door's bounds).
func hookCaps() storage.HookCaps {
	return storage.HookCaps{Deliveries: 2000, Bytes: 32 << 20, HookDeliveries: 500, HookBytes: 8 << 20}
}

// hookTTL is how long a delivery waits for the home computer.
const hookTTL = 7 * 24 * time.Hour

// stores is what an engine gives to those who asked for something.
type stores struct {
	mailbox    mailbox.Store
	challenges auth.Challenges
	hooks      hookStore
	io.Closer
}

// hookStore is what the webhook door needs of an engine.
type hookStore interface {
	Reserve() (id string, received time.Time, err error)
	Add(ctx context.Context, d storage.Delivery) error
	List(ctx context.Context, after string) iter.Seq2[storage.Kept, error]
	Sealed(ctx context.Context, id string) ([]byte, error)
	Remove(ctx context.Context, ids []string) (removed int, err error)
	Register(ctx context.Context, hooks []storage.Hook) error
	Registered(ctx context.Context) ([]storage.Hook, error)
	Totals(ctx context.Context) (storage.HookTotals, error)
}

// openStores opens the engine that c names.
func openStores(c Config, log *slog.Logger) (stores, error) {
	options := storage.Options{
		Caps: c.Caps, MessageTTL: c.MessageTTL, ChallengeTTL: challengeTTL,
		Hooks: hookCaps(), HookTTL: hookTTL,
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
	return bolt.CommitBytes(c.UploadLimit)
}

// dataFile is where the mail is kept; "" for an engine without a file.
func dataFile(c Config) string {
	if c.Engine != "bolt" {
		return ""
	}
	return filepath.Join(c.Data, "holdmail.db")
}
