// Package storagetest is the contract of the storage engines, as suites that
// every engine runs: Run for its mail and RunHooks for its deliveries, and RunDurable
// and RunDurableHooks if it keeps them beyond the end of the process.
//
// It declares the interfaces it drives itself; a consumer's test ties its own to
// them, so that a method which no suite drives does not compile.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
)

// MailboxStore is what the suites drive of an engine's mail.
type MailboxStore interface {
	Add(ctx context.Context, e storage.Envelope) (ids []string, err error)
	List(ctx context.Context, recipient, after string) iter.Seq2[storage.Message, error]
	Remove(ctx context.Context, recipient string, ids []string) (removed int, err error)
	Ready(ctx context.Context) error
}

// ChallengeStore is what the suites drive of an engine's challenges.
type ChallengeStore interface {
	Issue(ctx context.Context, challenge string, holders ...storage.Holder) error
	Consume(ctx context.Context, challenge string) (live bool, err error)
}

// Ledger is what an engine says it holds, and what a count of it gives.
type Ledger interface {
	Totals(ctx context.Context) (storage.Totals, error)
	Recount(ctx context.Context) (storage.Totals, error)
}

// HookStore is what the suites drive of what an engine keeps for webhooks.
type HookStore interface {
	Reserve() (id string, received time.Time, err error)
	Add(ctx context.Context, d storage.Delivery) error
	List(ctx context.Context, after string) iter.Seq2[storage.Kept, error]
	Sealed(ctx context.Context, id string) ([]byte, error)
	Remove(ctx context.Context, ids []string) (removed int, err error)
	Register(ctx context.Context, hooks []storage.Hook) error
	Registered(ctx context.Context) ([]storage.Hook, error)
	Totals(ctx context.Context) (storage.HookTotals, error)
}

// HookLedger is what a count of an engine's deliveries gives.
type HookLedger interface {
	Recount(ctx context.Context) (storage.HookTotals, error)
}

// Engine is one open engine.
type Engine struct {
	Mail       MailboxStore
	Challenges ChallengeStore
	Ledger     Ledger
	Hooks      HookStore
	HookLedger HookLedger
	Close      func() error
}

// Open opens an empty engine, which the test's end closes.
type Open func(t testing.TB, o storage.Options) Engine

// start is where every test's clock begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// Options are small caps, a TTL of an hour, and the given clock.
func Options(c storage.Clock) storage.Options {
	return storage.Options{
		Caps: storage.Caps{
			RecipientBytes: 1 << 20, TotalBytes: 4 << 20,
			RecipientMessages: 1000, TotalMessages: 4000, Challenges: 100,
		},
		MessageTTL:   time.Hour,
		ChallengeTTL: 5 * time.Minute,
		Hooks: storage.HookCaps{
			Deliveries: 2000, Bytes: 4 << 20, HookDeliveries: 500, HookBytes: 1 << 20,
		},
		HookTTL: time.Hour,
		Clock:   c,
	}
}

// bench is an engine with the helpers that the tests speak in.
type bench struct {
	testing.TB
	Engine
	clock *clock.Fake
}

// open opens an engine with Options as change leaves them.
func (o Open) open(t testing.TB, change func(*storage.Options)) *bench {
	t.Helper()
	c := clock.NewFake(start)
	opts := Options(c)
	if change != nil {
		change(&opts)
	}
	return &bench{t, o(t, opts), c}
}

// deposit files body and fails the test if it cannot.
func (b *bench) deposit(body string, recipients ...string) []string {
	b.Helper()
	ids, err := b.add(body, recipients...)
	if err != nil {
		b.Fatalf("depositing %d bytes for %v: %v", len(body), recipients, err)
	}
	return ids
}

func (b *bench) add(body string, recipients ...string) ([]string, error) {
	return b.Mail.Add(b.Context(), storage.Envelope{Recipients: recipients, Body: []byte(body)})
}

// refuse deposits and fails the test unless the store is full.
func (b *bench) refuse(body string, recipients ...string) {
	b.Helper()
	before := b.totals()
	if ids, err := b.add(body, recipients...); !errors.Is(err, storage.ErrFull) || ids != nil {
		b.Fatalf("depositing %d bytes for %v = %v, %v; want %v", len(body), recipients, ids, err, storage.ErrFull)
	}
	if after := b.totals(); after.Bytes > before.Bytes || after.Messages > before.Messages {
		b.Fatalf("a refused deposit left %+v where %+v was", after, before)
	}
}

func (b *bench) remove(want int, recipient string, ids ...string) {
	b.Helper()
	got, err := b.Mail.Remove(b.Context(), recipient, ids)
	if err != nil || got != want {
		b.Fatalf("Remove(%s, %d ids) = %d, %v; want %d", recipient, len(ids), got, err, want)
	}
}

// letter is a message, read.
type letter struct {
	id, body string
	received time.Time
}

func (b *bench) list(recipient string) []letter {
	b.Helper()
	return b.listAfter(recipient, "")
}

func (b *bench) listAfter(recipient, after string) (letters []letter) {
	b.Helper()
	for m, err := range b.Mail.List(b.Context(), recipient, after) {
		if err != nil {
			b.Fatalf("listing %s: %v", recipient, err)
		}
		letters = append(letters, b.read(m))
	}
	return letters
}

func (b *bench) read(m storage.Message) letter {
	b.Helper()
	var body bytes.Buffer
	n, err := m.Body.WriteTo(&body)
	if err != nil || n != m.Size || n != int64(body.Len()) {
		b.Fatalf("reading a body of %d bytes wrote %d and said %d: %v", m.Size, body.Len(), n, err)
	}
	return letter{m.ID, body.String(), m.Received}
}

// holds fails the test unless the recipient's mail is exactly these bodies in
// this order.
func (b *bench) holds(recipient string, bodies ...string) {
	b.Helper()
	var got []string
	for _, l := range b.list(recipient) {
		got = append(got, l.body)
	}
	if len(got) != len(bodies) {
		b.Fatalf("%s has %d messages; want %d", recipient, len(got), len(bodies))
	}
	for i := range got {
		if got[i] != bodies[i] {
			b.Fatalf("message %d of %s is %s; want %s", i, recipient, brief(got[i]), brief(bodies[i]))
		}
	}
}

func brief(body string) string {
	if len(body) <= 40 {
		return fmt.Sprintf("%q", body)
	}
	return fmt.Sprintf("%q… (%d bytes)", body[:40], len(body))
}

// totals is what the store says it holds, which a recount must bear out.
func (b *bench) totals() storage.Totals {
	b.Helper()
	said, err := b.Ledger.Totals(b.Context())
	if err != nil {
		b.Fatalf("Totals: %v", err)
	}
	counted, err := b.Ledger.Recount(b.Context())
	if err != nil || said != counted {
		b.Fatalf("a recount gives %+v, %v; the totals say %+v", counted, err, said)
	}
	return said
}

func (b *bench) wantTotals(bytes, messages int64) {
	b.Helper()
	if got, want := b.totals(), (storage.Totals{Bytes: bytes, Messages: messages}); got != want {
		b.Fatalf("the store holds %+v; want %+v", got, want)
	}
}

// body is a body of n bytes that no other name or size has.
func body(name string, n int) string {
	if n < len(name) {
		return name[:n]
	}
	line := name + strings.Repeat(".", 61) + "\n"
	return (name + strings.Repeat(line, n/len(line)+1))[:n]
}
