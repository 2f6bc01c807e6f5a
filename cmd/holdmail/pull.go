package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/pull/ledger"
	"github.com/holdmail/holdmail/systemd"
)

// homeFlags are what pull and doctor need to know of this computer and its relay.
type homeFlags struct {
	Relay string `required:"" placeholder:"URL" env:"HOLDMAIL_PULL_RELAY" help:"The relay's URL: https, or http on this machine, or an onion address."`
	Key   string `placeholder:"FILE" env:"HOLDMAIL_PULL_KEY" help:"The file of holdmail pair; else ~/.config/holdmail/relay.json."`
	Hooks string `placeholder:"FILE" env:"HOLDMAIL_PULL_HOOKS" help:"The file of hooks; else ~/.config/holdmail/hooks."`
	State string `placeholder:"FOLDER" env:"HOLDMAIL_PULL_STATE" help:"Folder of the ledger; else $STATE_DIRECTORY, $XDG_STATE_HOME/holdmail, ~/.local/state/holdmail."`
	Socks string `placeholder:"HOST:PORT" env:"HOLDMAIL_PULL_SOCKS" help:"SOCKS5 proxy on the way to the relay, such as Tor's 127.0.0.1:9050."`
}

// pullCommand drains a relay into a program on this computer.
type pullCommand struct {
	homeFlags
	To        string        `required:"" placeholder:"URL" env:"HOLDMAIL_PULL_TO" help:"Where the requests go, such as http://127.0.0.1:3000/{hook}: {hook} is the name of the hook."`
	Timeout   time.Duration `default:"60s" env:"HOLDMAIL_PULL_TIMEOUT" help:"How long the program at --to may take for one request; the default is ${default}."`
	LedgerMax int64         `placeholder:"BYTES" default:"33554432" env:"HOLDMAIL_PULL_LEDGER_MAX" help:"Bytes of the ledger's entries, about 120 a delivery, kept for eight days; the default is ${default}."`
	Once      bool          `help:"End when nothing waits."`
}

// Validate is asked by the command line.
func (c pullCommand) Validate() error {
	if c.Timeout <= 0 {
		return errors.New("--timeout: want a time above 0, such as 60s")
	}
	if c.LedgerMax < 1<<10 {
		return errors.New("--ledger-max: want at least 1024 bytes")
	}
	return nil
}

// Run pulls until ctx ends.
func (c pullCommand) Run(ctx context.Context) error {
	log := appliance.NewLog(appliance.Config{LogFormat: "auto"}, os.Stderr, os.Getenv("JOURNAL_STREAM"))
	home, err := c.open()
	if err != nil {
		return err
	}
	to, err := pull.NewHTTP(c.To, c.Timeout)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if err := durable.MakeFolder(home.state); err != nil {
		return err
	}
	book, err := ledger.Open(filepath.Join(home.state, ledgerName), c.LedgerMax)
	if err != nil {
		return err
	}
	p := pull.New(home.relay, home.key, to, book, log)
	p.Hooks = func() ([]pull.Hook, error) { return readHooks(home.hooks) }
	p.Once = c.Once
	p.Tell = (&statusFile{path: filepath.Join(home.state, statusName), log: log}).tell
	if !c.Once {
		log.Info("pulling", "relay", c.Relay, "key", home.key.Setup().KeyID(), "to", to.String())
		if err := systemd.Ready(); err != nil {
			log.Warn("the service manager does not hear", "err", err)
		}
	}
	err = p.Run(ctx)
	return cmp.Or(err, book.Close())
}
