package client

import (
	"context"
	"errors"
	"time"
)

var errSilent = errors.New("nothing was sent or heard for too long")

// silence ends a call once nothing was sent or heard for some time.
type silence struct {
	limit  time.Duration
	timer  *time.Timer // nil if silence may last for ever
	cancel context.CancelCauseFunc
}

// listenFor bounds the silence of one call to limit, which may be 0 for no
// bound. The first silence may last longer by wait.
func listenFor(ctx context.Context, limit, wait time.Duration) (*silence, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{limit: limit, cancel: cancel}
	if limit > 0 {
		s.timer = time.AfterFunc(limit+wait, func() { cancel(errSilent) })
	}
	return s, ctx
}

// heard says that the call goes on.
func (s *silence) heard() {
	if s.timer != nil {
		s.timer.Reset(s.limit)
	}
}

// Write takes note that p was sent.
func (s *silence) Write(p []byte) (int, error) {
	s.heard()
	return len(p), nil
}

// end ends the call, if it has not ended.
func (s *silence) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.cancel(nil)
}
