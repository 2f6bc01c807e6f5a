package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/identity"
)

var (
	// ErrNotChallenge: a relay sent a text to be signed that is no challenge. What
	// it is may mean something elsewhere, so nothing was signed.
	ErrNotChallenge = errors.New("nothing was signed: what the relay sent to be signed is no challenge")
	// ErrAudience is wrapped with what a relay calls itself instead of the name
	// that proofs may be made for. Nothing was signed.
	ErrAudience = errors.New("nothing was signed, since the relay is not the one that a proof was wanted for")
)

// challengeForm is base64url of 32 bytes, or of 64 if the challenge is bound to
// a DID.
var challengeForm = regexp.MustCompile(`^(?:[A-Za-z0-9_-]{43}|[A-Za-z0-9_-]{86})$`)

// Proof shows a relay who calls: a DID, a challenge of the relay's, and the
// DID's signature over it (relay spec §3). It is good for one call.
type Proof struct {
	DID       string `json:"did"`
	Challenge string `json:"challenge"`
	Signature string `json:"signature"`
	// Audience is the relay that the proof is for. Without one the signature is
	// over the challenge alone, and good at any relay that issued it.
	Audience string `json:"audience,omitempty"`
}

// Prove asks for a challenge and signs it. It signs nothing that is no challenge,
// and for no relay but the one that is called, or that Audience names.
func (c *Client) Prove(ctx context.Context, who *identity.Identity) (Proof, error) {
	return c.proveAs(ctx, who.DID(), who)
}

// proveAs is a proof that signer controls id. It is a good one if it does.
func (c *Client) proveAs(ctx context.Context, id did.ID, signer *identity.Identity) (Proof, error) {
	asked, err := c.challenge(ctx, id)
	if err != nil {
		return Proof{}, err
	}
	audience, err := c.audienceOf(asked)
	if err != nil {
		return Proof{}, err
	}
	text := asked.Challenge
	if audience != "" {
		text = "holdmail pickup\n" + audience + "\n" + asked.Challenge
	}
	return Proof{DID: string(id), Challenge: asked.Challenge, Signature: signer.Sign(text), Audience: audience}, nil
}

// challenge is a relay's answer to who asks for one.
type challenge struct {
	Challenge string `json:"challenge"`
	Audience  string `json:"audience"` // what the relay says it is, "" if it does not
}

// challenge asks for a challenge that is good for one proof of id's within five
// minutes. A relay that cannot bind one to a DID gives one that is not.
func (c *Client) challenge(ctx context.Context, id did.ID) (asked challenge, err error) {
	if err := c.get(ctx, "/api/v1/challenge?did="+url.QueryEscape(string(id)), &asked); err != nil {
		return challenge{}, err
	}
	if asked.Challenge == "" {
		return challenge{}, errors.New("the relay gave no challenge")
	}
	if !challengeForm.MatchString(asked.Challenge) {
		return challenge{}, ErrNotChallenge
	}
	return asked, nil
}

// audienceOf is the relay that a proof is made for, "" if it is to be a plain
// one. A relay may call itself what it likes, so a name that is not the one of
// whom we called is not signed.
func (c *Client) audienceOf(asked challenge) (string, error) {
	switch {
	case c.Audience == "" && sameOrigin(asked.Audience, c.base):
		return asked.Audience, nil
	case c.Audience == "":
		return "", nil
	case asked.Audience == c.Audience:
		return c.Audience, nil
	case asked.Audience == "":
		return "", fmt.Errorf("%w: it names itself nothing, want %q", ErrAudience, c.Audience)
	default:
		return "", fmt.Errorf("%w: it names itself %q, want %q", ErrAudience, asked.Audience, c.Audience)
	}
}

// sameOrigin reports whether two URLs have scheme, host and port in common.
func sameOrigin(a, b string) bool {
	first, ok := origin(a)
	second, fine := origin(b)
	return ok && fine && first == second
}

// origin is the scheme, host and port of an http or https URL.
func origin(address string) (o [3]string, ok bool) {
	u, err := url.Parse(address) // no URL has a line feed
	if err != nil || u.Host == "" {
		return o, false
	}
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return o, false
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	return [3]string{u.Scheme, strings.ToLower(u.Hostname()), port}, true
}
