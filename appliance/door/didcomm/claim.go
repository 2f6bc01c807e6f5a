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
// as they are written, nil where there is none.
type claim struct {
	proof              auth.Proof
	audience, next     jsontext.Value
	ids                jsontext.Value // of a remove
	wait, limit, after jsontext.Value // of a fetch
}

// parseClaim reads a body, whatever type it was sent as. One that lacks a member
// of the proof is a 400 (relay spec §2.4).
func parseClaim(body []byte) (claim, error) {
	var c claim
	var id, challenge, signature jsontext.Value
	err := door.Object(body, func(name string, value jsontext.Value) {
		switch name {
		case "did":
			id = value
		case "challenge":
			challenge = value
		case "signature":
			signature = value
		case "audience":
			c.audience = value
		case "next":
			c.next = value
		case "ids":
			c.ids = value
		case "wait":
			c.wait = value
		case "limit":
			c.limit = value
		case "after":
			c.after = value
		}
	})
	if err != nil {
		return claim{}, err
	}
	var have [3]bool
	c.proof.DID, have[0] = door.String(id)
	c.proof.Challenge, have[1] = door.String(challenge)
	c.proof.Signature, have[2] = door.String(signature)
	if have != [3]bool{true, true, true} {
		return claim{}, badRequest("did, challenge and signature must be strings")
	}
	c.proof.Audience, _ = door.String(c.audience)
	return c, nil
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

// spend reads a claim and uses up its challenge, before anything else of it is
// looked at: a wrong guess must cost one, or a single challenge could be tried
// against every key. A body that is no claim costs none.
func (d *Door) spend(r *http.Request) (claim, auth.Spent, error) {
	body, err := door.Body(r, claimLimit)
	if err != nil {
		return claim{}, auth.Spent{}, err
	}
	// Its members are copied out of it.
	if err := flight.Of(r.Context()).Hold(int64(len(body))); err != nil {
		return claim{}, auth.Spent{}, err
	}
	c, err := parseClaim(body)
	if err != nil {
		return claim{}, auth.Spent{}, err
	}
	spent, err := d.Gate.Spend(r.Context(), c.proof)
	return c, spent, err
}
