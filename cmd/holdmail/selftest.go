package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/client"
)

// selftest carries one envelope through a relay.
type selftest struct {
	URL string `arg:"" optional:"" help:"The relay's URL; else the relay on this machine."`
}

// Run prints each step with its time. It returns an error if one failed.
func (s selftest) Run(ctx context.Context) error {
	if s.URL == "" {
		config, _, err := appliance.Load(appliance.Flags{}, os.Environ())
		if err != nil {
			return err
		}
		s.URL = config.LocalURL()
	}
	fmt.Println("testing", s.URL)
	if err := client.Selftest(ctx, s.URL, printStep); err != nil {
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
