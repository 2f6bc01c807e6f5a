package resolve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// reason is an error in our own words, which hold no part of a DID.
type reason string

func (r reason) Error() string { return string(r) }

// unanswered is ErrUnreachable with why there was no answer of who, who was asked over
// HTTP. It is in fixed words: those of err may quote what the other end said, and that
// may hold the DID.
func unanswered(who string, err error) error {
	var ours reason
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var errno syscall.Errno
	switch {
	case errors.As(err, &ours):
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, who, ours)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, who, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return fmt.Errorf("%w: %s did not answer in time: %w", ErrUnreachable, who, context.DeadlineExceeded)
	case errors.As(err, &name):
		return fmt.Errorf("%w: %s: its name could not be looked up", ErrUnreachable, who)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %s has no certificate that this machine trusts", ErrUnreachable, who)
	case errors.As(err, &errno):
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, who, errno)
	}
	return fmt.Errorf("%w: %s did not speak HTTP or HTTPS as it should", ErrUnreachable, who)
}
