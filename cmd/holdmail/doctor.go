package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/pull"
)

const (
	nearlyFull = 0.8              // of a bound
	dialWithin = 5 * time.Second  // for the program at --to
	quiet      = 10 * time.Minute // after which a pull that said nothing does not run
)

// doctor says what keeps deliveries from coming home.
type doctor struct {
	homeFlags
	To string `placeholder:"URL" env:"HOLDMAIL_PULL_TO" help:"The program's URL, as for pull, to see whether it is there."`
}

// Run prints a line for each thing it looks at, and returns an error if one is wrong.
func (d doctor) Run(ctx context.Context) error {
	home, err := d.open()
	if err != nil {
		return err
	}
	wrong := 0
	for _, look := range []func() (string, error){
		func() (string, error) { return lookAtHooks(home.hooks) },
		func() (string, error) { return lookAtRelay(ctx, home) },
		func() (string, error) { return lookAtPull(home.state, time.Now()) },
		func() (string, error) { return lookAtProgram(ctx, d.To) },
	} {
		well, err := look()
		if err != nil {
			wrong++
			fmt.Println("WRONG", err)
		} else if well != "" {
			fmt.Println("ok   ", well)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of these are wrong", wrong)
	}
	return nil
}

func lookAtHooks(path string) (string, error) {
	hooks, err := readHooks(path)
	switch {
	case err != nil:
		return "", err
	case len(hooks) == 0:
		return "", fmt.Errorf("%s names no hook: holdmail hook new makes one", path)
	default:
		return fmt.Sprintf("%s names %d hooks", path, len(hooks)), nil
	}
}

// lookAtRelay asks the relay how it stands.
func lookAtRelay(ctx context.Context, h home) (string, error) {
	is, err := h.relay.Status(ctx)
	if err != nil {
		return "", err
	}
	if mine := h.key.Setup().KeyID(); is.KeyID != mine {
		return "", fmt.Errorf("%w: it seals for key %.16q and this is %s; give it the code of holdmail pair --show", pull.ErrOtherKey, is.KeyID, mine)
	}
	waiting := fmt.Sprintf("%d deliveries of %d bytes wait at the relay", is.Depth, is.Bytes)
	if nearly(is.Depth, is.Max) || nearly(is.Bytes, is.MaxBytes) {
		return "", fmt.Errorf("%s, which is nearly full: senders are refused soon; see whether holdmail pull runs", waiting)
	}
	return "the relay answers and seals for this computer; " + waiting, nil
}

// nearly tells whether a bound is nearly reached; 0 is no bound.
func nearly(taken, most int64) bool { return most > 0 && float64(taken) >= nearlyFull*float64(most) }

// lookAtPull reads what the pull of this computer said last.
func lookAtPull(folder string, now time.Time) (string, error) {
	s, err := readStatus(folder)
	switch {
	case err != nil:
		return "", fmt.Errorf("what holdmail pull said last cannot be read: %w", err)
	case s == nil:
		return "", errors.New("holdmail pull has not run here")
	}
	var wrong []string
	if s.Trouble != "" {
		wrong = append(wrong, s.Trouble)
	} else if now.Sub(s.Said) > quiet {
		wrong = append(wrong, "it does not run: it was heard last at "+s.Said.Local().Format(time.DateTime))
	}
	if s.Handler != "" {
		wrong = append(wrong, s.Handler)
	}
	if s.RefusedForTime > 0 {
		wrong = append(wrong, fmt.Sprintf("%d deliveries are refused for their time, by %s more than may be, and wait at the relay: set the clock of this computer, or the relay's", s.RefusedForTime, s.TimeOff))
	}
	if nearly(s.LedgerBytes, s.LedgerMax) {
		wrong = append(wrong, fmt.Sprintf("its ledger is nearly full, with %d of %d bytes, and then it stops: raise --ledger-max", s.LedgerBytes, s.LedgerMax))
	}
	if len(wrong) > 0 {
		return "", errors.New("holdmail pull: " + strings.Join(wrong, "; "))
	}
	return "holdmail pull runs", nil
}

// lookAtProgram sees whether somebody listens where deliveries go.
func lookAtProgram(ctx context.Context, to string) (string, error) {
	if to == "" {
		return "", nil
	}
	if _, err := pull.NewHTTP(to, dialWithin); err != nil {
		return "", fmt.Errorf("--to: %w", err)
	}
	u, err := url.Parse(strings.ReplaceAll(to, "{hook}", "hook"))
	if err != nil {
		return "", fmt.Errorf("--to: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // a name that stands for its port
	}
	conn, err := (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", fmt.Errorf("nobody listens at %s: %w", u.Host, err)
	}
	return "somebody listens at " + u.Host, conn.Close()
}
