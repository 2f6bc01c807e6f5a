package didcomm

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
)

// claimLimit bounds the body of a call by a mailbox's owner, in bytes.
const claimLimit = 2 << 20

// idLength is the length of a message's id, a UUID, in bytes.
const idLength = 36

// claim is the body of a call by someone who claims to own a mailbox. Its values are
// as they are written, nil where there is none, and parts of the body.
type claim struct {
	proof              auth.Proof // "" until prove
	did, challenge     jsontext.Value
	signature          jsontext.Value
	audience, next     jsontext.Value
	ids                jsontext.Value // of a remove
	wait, limit, after jsontext.Value // of a fetch
	endpoint, message  jsontext.Value // of a delivery
}

// parseClaim reads a body, whatever type it was sent as. It copies no value.
func parseClaim(body []byte) (c claim, err error) {
	values := map[string]*jsontext.Value{
		"did": &c.did, "challenge": &c.challenge, "signature": &c.signature,
		"audience": &c.audience, "next": &c.next,
		"ids":  &c.ids,
		"wait": &c.wait, "limit": &c.limit, "after": &c.after,
		"endpoint": &c.endpoint, "message": &c.message,
	}
	err = door.Object(body, func(name string, value jsontext.Value) {
		if known := values[name]; known != nil {
			*known = value
		}
	})
	return c, err
}

// copies is how many bytes its values take once they are copied out of the body, at
// most. A message is not: it is read where it lies.
func (c claim) copies() int64 {
	list := 2 * len(c.ids) // the ids, and where each is
	return int64(len(c.did) + len(c.challenge) + len(c.signature) + len(c.audience) + len(c.after) + len(c.endpoint) + list)
}

// prove reads the proof. A claim that lacks a member of it is a 400 (relay spec
// §2.4).
func (c *claim) prove() error {
	var have [3]bool
	c.proof.DID, have[0] = door.String(c.did)
	c.proof.Challenge, have[1] = door.String(c.challenge)
	c.proof.Signature, have[2] = door.String(c.signature)
	if have != [3]bool{true, true, true} {
		return badRequest("did, challenge and signature must be strings")
	}
	c.proof.Audience, _ = door.String(c.audience)
	return nil
}

// nextAsked reports whether the caller asks for a challenge for the next call. A
// claim that is wrong in what it may have besides the proof's members is a 400.
func (c claim) nextAsked() (next bool, err error) {
	if c.audience != nil && c.proof.Audience == "" {
		return false, badRequest("audience must be a string that is not empty")
	}
	if c.next == nil {
		return false, nil
	}
	next, ok := door.Bool(c.next)
	if !ok {
		return false, badRequest("next must be true or false")
	}
	return next, nil
}

// messageIDs returns the ids that a claim names. Those of another length than
// ours are left out: they name nothing, and a body full of empty strings would
// take many times its size.
func (c claim) messageIDs() ([]string, error) {
	var ids []string
	ok := door.Strings(c.ids, func(id string) {
		if len(id) == idLength {
			ids = append(ids, id)
		}
	})
	if !ok {
		return nil, badRequest("ids must be an array of strings")
	}
	return ids, nil
}

func badRequest(message string) *door.Error {
	return &door.Error{Status: http.StatusBadRequest, Message: message}
}

// spend reads a claim of at most limit bytes and uses up its challenge, before
// anything else of it is looked at: a wrong guess must cost one, or a single
// challenge could be tried against every key. A body that is no claim costs none.
func (d *Door) spend(r *http.Request, limit int64) (claim, auth.Spent, error) {
	body, err := door.Body(r, limit)
	if err != nil {
		return claim{}, auth.Spent{}, err
	}
	c, err := parseClaim(body)
	if err != nil {
		return claim{}, auth.Spent{}, err
	}
	if err := flight.Of(r.Context()).Hold(c.copies()); err != nil {
		return claim{}, auth.Spent{}, err
	}
	if err := c.prove(); err != nil {
		return claim{}, auth.Spent{}, err
	}
	spent, err := d.Gate.Spend(r.Context(), c.proof)
	return c, spent, err
}
