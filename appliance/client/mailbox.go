package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/holdmail/holdmail/appliance/identity"
)

// Health returns nil if the relay says that it is ready.
func (c *Client) Health(ctx context.Context) error {
	var answer struct {
		Ready bool `json:"ready"`
	}
	if err := c.get(ctx, "/health", &answer); err != nil {
		return err
	}
	if !answer.Ready {
		return errors.New("the relay is not ready")
	}
	return nil
}

// Deposit files an encrypted envelope and returns an id per recipient's mailbox.
func (c *Client) Deposit(ctx context.Context, envelope []byte) (ids []string, err error) {
	return c.DepositFrom(ctx, bytes.NewReader(envelope), int64(len(envelope)))
}

// DepositFrom is Deposit of an envelope that is read while it is sent. It has
// size bytes, or an unknown number if size is -1.
func (c *Client) DepositFrom(ctx context.Context, envelope io.Reader, size int64) (ids []string, err error) {
	var answer struct {
		IDs []string `json:"ids"`
	}
	err = c.call(ctx, request{
		method:    http.MethodPost,
		path:      "/api/v1/messages",
		mediaType: "application/didcomm-encrypted+json",
		body:      envelope,
		size:      size,
	}, &answer)
	return answer.IDs, err
}

// Remove acknowledges ids, and returns how many were really removed.
func (c *Client) Remove(ctx context.Context, who *identity.Identity, ids []string) (removed int, err error) {
	p, err := c.Prove(ctx, who)
	if err != nil {
		return 0, err
	}
	return c.RemoveWith(ctx, p, ids)
}

// RemoveWith is Remove with a proof of the caller's making.
func (c *Client) RemoveWith(ctx context.Context, p Proof, ids []string) (removed int, err error) {
	if ids == nil {
		ids = []string{} // an array on the wire, never null
	}
	var answer struct {
		Removed int `json:"removed"`
	}
	err = c.post(ctx, "/api/v1/messages/remove", struct {
		Proof
		IDs []string `json:"ids"`
	}{p, ids}, &answer)
	return answer.Removed, err
}
