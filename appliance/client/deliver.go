package client

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/holdmail/holdmail/appliance/identity"
)

// Deliver has the relay bring an encrypted envelope to the relay at endpoint, and
// returns the ids that one gave, if it gave any.
func (c *Client) Deliver(ctx context.Context, who *identity.Identity, endpoint string, envelope []byte) (ids []string, err error) {
	if !utf8.Valid(envelope) { // JSON would carry something else
		return nil, errors.New("the envelope is not text in UTF-8")
	}
	p, err := c.Prove(ctx, who)
	if err != nil {
		return nil, err
	}
	var answer struct {
		IDs []string `json:"ids"`
	}
	err = c.post(ctx, "/api/v1/deliver", struct {
		Proof
		Endpoint string `json:"endpoint"`
		Message  string `json:"message"`
	}{p, endpoint, string(envelope)}, &answer)
	return answer.IDs, err
}
