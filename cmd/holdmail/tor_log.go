package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/holdmail/holdmail/appliance/torhost"
	"github.com/holdmail/holdmail/appliance/torrc"
	"github.com/holdmail/holdmail/storage/clock"
)

// unproved is err, for which we have waited in vain, with what else may be the
// reason.
func (s torSetup) unproved(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case torhost.ClockWrong(s.log(ctx)):
		return fmt.Errorf("this machine's clock is wrong, and Tor does not start with it: set it (timedatectl), then restart Tor (systemctl restart tor); %w", err)
	case !(clock.System{}).Synced():
		return fmt.Errorf("not within %d seconds: %w; this machine's clock is not synchronised, and with a wrong one Tor does not start: see timedatectl", s.Wait, err)
	default:
		return fmt.Errorf("not within %d seconds: %w; Tor's log says more (journalctl -u tor@default), and a restart may help (systemctl restart tor)", s.Wait, err)
	}
}

// log is the end of Tor's log, "" if it is not ours to read.
func (s torSetup) log(ctx context.Context) string {
	text, _ := torhost.File{Path: s.Torrc}.Read()
	if file := torrc.LogFile(text); file != "" {
		out, _ := exec.CommandContext(ctx, "tail", "-n", "500", "--", file).Output()
		return string(out)
	}
	if !s.managed() {
		return ""
	}
	out, _ := exec.CommandContext(ctx, "journalctl", "--boot", "--no-pager", "--output=cat", "--lines=500", "--unit=tor@default", "--unit=tor").Output()
	return string(out)
}
