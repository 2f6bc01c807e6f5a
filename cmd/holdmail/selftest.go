package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
)

// selftest carries one envelope through a relay.
type selftest struct{ relayFlags }

// Run prints each step with its time. It returns an error if one failed.
func (s selftest) Run(ctx context.Context) error {
	address, err := s.address()
	if err != nil {
		return err
	}
	relay, err := s.client()
	if err != nil {
		return err
	}
	return prove(ctx, address, relay)
}

// prove carries one envelope through the relay at an address.
func prove(ctx context.Context, address string, relay *client.Client) error {
	fmt.Println("testing", address)
	if err := relay.Selftest(ctx, printStep); err != nil {
		fmt.Println("FAIL")
		return err
	}
	fmt.Println("PASS")
	return nil
}

func printStep(s client.Step) {
	verdict := "ok"
	if s.Err != nil {
		verdict = "FAIL"
	}
	fmt.Printf("%-4s  %-34s %8s\n", verdict, s.Name, s.Took.Round(100*time.Microsecond))
}
