// Package storage says what is kept: envelopes filed under recipients, deliveries
// to webhooks, the caps that bound them, and the errors by which an engine refuses.
//
// It knows no DID, no HTTP and no file. A recipient is an opaque name, an address a
// hash; a body is opaque bytes. The engines are in bolt and memory; the suites that every
// engine passes are in storagetest.
package storage

import (
	"errors"
	"io"
	"time"
)

// Envelope is one body for one or more recipients, as it is deposited.
type Envelope struct {
	Recipients []string // opaque names; a repeated name is one recipient
	Body       []byte   // kept byte for byte; the engine does not retain the slice
}

// Message is one recipient's copy of an envelope, as it is fetched.
type Message struct {
	ID       string    // a UUID; names the message to its recipient only
	Received time.Time // wall-clock time of the deposit, UTC, to the millisecond
	Size     int64     // of the body, in bytes

	// Body writes the body, once. It holds no transaction while it writes and at
	// most one small piece of the body in memory. It returns ErrGone if the
	// message was removed before the last piece was read.
	Body io.WriterTo
}

// Caps bound what an engine keeps. Every copy of an envelope counts with its
// full size, for its mailbox and for the total. All are exact and inclusive:
// a mailbox may hold exactly RecipientBytes. All must be above zero.
type Caps struct {
	RecipientBytes    int64 // per mailbox
	TotalBytes        int64 // over all mailboxes
	RecipientMessages int64 // per mailbox
	TotalMessages     int64 // over all mailboxes
	Challenges        int   // live at one time
}

// Options are what every engine needs to be told.
type Options struct {
	Caps         Caps
	MessageTTL   time.Duration // from deposit to expiry, in time that really passed
	ChallengeTTL time.Duration
	Hooks        HookCaps
	HookTTL      time.Duration // as MessageTTL, of a webhook's delivery
	Clock        Clock
}

// Holder is one to whom something that all share is counted while it is in use,
// such as a live challenge: whoever asks for challenges and lets them lie must not
// use up everybody's.
type Holder struct {
	Name string // an opaque name
	Most int    // that it may hold at one time
}

// Totals is what an engine holds, expired mail that is not yet shed included.
type Totals struct {
	Bytes    int64
	Messages int64
}

// Clock tells an engine the time. Wall-clock time is for stamps that people
// read; ages are measured in elapsed time, which no clock step touches.
type Clock interface {
	// Now is the wall clock, which may be wrong and may step either way.
	Now() time.Time
	// Elapsed is the time since the machine's boot. It only grows.
	Elapsed() time.Duration
	// Boot names this boot: values of Elapsed compare within one boot only.
	Boot() string
	// Synced reports whether Now is synchronised with the world's time.
	Synced() bool
}

// The errors by which an engine refuses. Engines wrap them.
var (
	// ErrFull: a cap would be passed. Nothing of the envelope was kept.
	ErrFull = errors.New("storage is full")
	// ErrTooManyChallenges: as many challenges are live as may be, of all or of one
	// of those that would hold it.
	ErrTooManyChallenges = errors.New("too many live challenges")
	// ErrNoRoom: the disk has no room for a deposit. Nothing was kept.
	// Removing still works.
	ErrNoRoom = errors.New("no room on the disk")
	// ErrNotID: a text that is no id of that mailbox, or of a delivery, and never was.
	ErrNotID = errors.New("not an id of this mailbox")
	// ErrGone: the message was removed, or has expired, while it was being read; the
	// same of a delivery that is asked for by its id.
	ErrGone = errors.New("message is gone")
	// ErrClosed: the engine is closed, or closing.
	ErrClosed = errors.New("storage is closed")
	// ErrBroken: an earlier write to the disk failed in a way that leaves its
	// outcome unknown; nothing more is written until a restart. Reading works.
	ErrBroken = errors.New("storage is read-only after a failed write")
)
