package main

import (
	"context"
	"errors"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/pickup"
)

const (
	exitFailed = 1
	exitLater  = 75 // EX_TEMPFAIL of sysexits.h: the same may work later
)

// later is an error of a call to a relay that may pass by itself.
type later struct{ error }

// Unwrap returns the error itself.
func (l later) Unwrap() error { return l.error }

// callError marks err for its exit code.
func callError(err error) error {
	if client.Temporary(err) || errors.Is(err, pickup.ErrBusy) {
		return later{err}
	}
	return err
}

// exitCode is the exit code for err, which is not nil.
func exitCode(err error) int {
	if _, ok := errors.AsType[later](err); ok {
		return exitLater
	}
	return exitFailed
}

// interrupted is err, or the plain reason when the caller ended ctx.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
