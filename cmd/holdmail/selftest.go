package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
)

// selftest carries one envelope through a relay.
type selftest struct {
	URL string `arg:"" optional:"" help:"The relay's URL; else the relay on this machine."`
}

// Run prints each step with its time. It returns an error if one failed.
func (s selftest) Run(ctx context.Context) error {
	url, err := relayURL(s.URL)
	if err != nil {
		return err
	}
	fmt.Println("testing", url)
	if err := client.Selftest(ctx, url, printStep); err != nil {
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
