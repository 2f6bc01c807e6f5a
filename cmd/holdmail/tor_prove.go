package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/appliance/torhost"
)

// prove carries an envelope to the address and back, by Tor.
func (s torSetup) prove(ctx context.Context) error {
	config, err := s.config()
	if err != nil {
		return err
	}
	if err := errors.Join(torhost.Entrance(config.Onion.Listen, s.owner()), torhost.Socks(s.Socks)); err != nil {
		return err
	}
	name, err := s.name()
	if err != nil {
		return err
	}
	address := "http://" + name + config.BasePath
	relay, err := relayFlags{URL: address, Socks: s.Socks}.client()
	if err != nil {
		return err
	}
	fmt.Println("waiting until the address can be found in Tor's network ...")
	last := errors.New("it was not tried")
	err = s.await(ctx, func(ctx context.Context) bool {
		last = relay.Health(ctx)
		return last == nil
	})
	if err != nil {
		return s.unproved(ctx, last)
	}
	return prove(ctx, address, relay)
}

// await asks every second until done says true, or the time is over.
func (s torSetup) await(ctx context.Context, done func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.Wait)*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !done(ctx) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
