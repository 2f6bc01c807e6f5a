package client

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/identity"
)

// Message is one envelope that waited.
type Message struct {
	ID       string    `json:"id"`
	Envelope string    `json:"message"` // byte for byte as it was deposited
	Received time.Time `json:"received"`
}

// Label is what a relay says of a message besides its envelope.
type Label struct {
	ID       string
	Received time.Time // zero if the relay did not say
}

// Shelf is where messages are put as they come.
type Shelf interface {
	// Begin makes ready for one envelope, whose bytes are then written. One that
	// was begun before and not kept did not come whole.
	Begin() (io.Writer, error)
	// Keep ends the envelope begun last: it came whole, and this is its label. The
	// label is a stranger's text.
	Keep(Label) error
}

// Receive lists all mail of the DID that p proves, oldest first, onto shelf, and
// leaves it at the relay. Of an envelope it holds a few kilobytes at a time. If
// there is none the relay may wait for some, in whole seconds up to 60; one that
// cannot answers at once.
//
// When the answer breaks off, what shelf was told to keep is whole nevertheless.
func (c *Client) Receive(ctx context.Context, p Proof, wait time.Duration, shelf Shelf) error {
	r, err := jsonRequest("/api/v1/messages/fetch", struct {
		Proof
		Wait int64 `json:"wait,omitempty"`
	}{p, int64(wait / time.Second)})
	if err != nil {
		return err
	}
	r.wait = wait
	answer, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	return readMail(answer, shelf)
}

// Fetch returns all mail that waits for who, oldest first, and leaves it there.
func (c *Client) Fetch(ctx context.Context, who *identity.Identity) ([]Message, error) {
	p, err := c.Prove(ctx, who)
	if err != nil {
		return nil, err
	}
	return c.FetchWith(ctx, p)
}

// FetchWith is Fetch with a proof of the caller's making.
func (c *Client) FetchWith(ctx context.Context, p Proof) ([]Message, error) {
	var all messages
	if err := c.Receive(ctx, p, 0, &all); err != nil {
		return nil, err
	}
	return all.kept, nil
}

// messages is a shelf in memory.
type messages struct {
	next strings.Builder
	kept []Message
}

// Begin forgets what did not come whole.
func (m *messages) Begin() (io.Writer, error) {
	m.next.Reset()
	return &m.next, nil
}

// Keep keeps the envelope that was written.
func (m *messages) Keep(l Label) error {
	m.kept = append(m.kept, Message{ID: l.ID, Envelope: m.next.String(), Received: l.Received})
	return nil
}
