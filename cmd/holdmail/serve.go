package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/holdmail/holdmail/appliance"
)

// serve runs the relay. Its flags are the table of settings.
type serve struct{ appliance.Flags }

// Run serves until ctx ends.
func (s serve) Run(ctx context.Context) error {
	config, warnings, err := appliance.Load(s.Flags, os.Environ())
	if err != nil {
		return err
	}
	config.Version = linkedVersion()
	log := appliance.NewLog(config, os.Stderr, os.Getenv("JOURNAL_STREAM"))
	// What net/http says of strangers' broken answers, it says to everybody's log.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
	for _, w := range warnings {
		log.Warn(w)
	}
	relay, err := appliance.New(config, log)
	if err != nil {
		return err
	}
	err = relay.Serve(ctx)
	return errors.Join(err, relay.Close())
}
