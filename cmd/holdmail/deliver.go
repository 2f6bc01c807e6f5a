package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// deliver has a relay bring an envelope to another one.
type deliver struct {
	Endpoint string  `arg:"" help:"The endpoint of the recipient's relay: https, or an onion service."`
	Via      string  `placeholder:"URL" help:"The relay that brings it there; else the relay on this machine."`
	Socks    string  `placeholder:"HOST:PORT" help:"Call that relay through a SOCKS5 proxy, such as Tor's at 127.0.0.1:9050."`
	File     string  `placeholder:"FILE" help:"The packed envelope; else standard input."`
	Identity string  `placeholder:"FILE" help:"The identity file; else ~/.config/holdmail/identity.json."`
	Audience *string `placeholder:"URL" help:"The endpoint the relay is known by, as for fetch."`
}

const (
	// patience is more than a relay has with an onion service.
	patience = 150 * time.Second
	// maxEnvelope is the most that is read of one, in bytes; relays take less.
	maxEnvelope = 64 << 20
)

// Validate is asked by the command line.
func (d deliver) Validate() error { return validAudience(d.Audience) }

// Run sends the envelope, and prints the ids that the other relay gave.
func (d deliver) Run(ctx context.Context) error {
	sender, err := openIdentity(d.Identity)
	if err != nil {
		return err
	}
	relay, err := relayFlags{d.Via, d.Socks}.client()
	if err != nil {
		return err
	}
	relay.Patience = patience
	if d.Audience != nil {
		relay.Audience = *d.Audience
	}
	envelope, err := readEnvelope(d.File)
	if err != nil {
		return err
	}
	ids, err := relay.Deliver(ctx, sender, d.Endpoint, envelope)
	if err != nil {
		return callError(interrupted(ctx, err))
	}
	return printLines(ids)
}

// readEnvelope reads all of what openEnvelope opens.
func readEnvelope(path string) ([]byte, error) {
	f, _, err := openEnvelope(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	envelope, err := io.ReadAll(io.LimitReader(f, maxEnvelope+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the envelope: %w", err)
	case len(envelope) > maxEnvelope:
		return nil, errors.New("the envelope is larger than any relay takes")
	}
	return envelope, nil
}
