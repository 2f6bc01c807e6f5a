package didcomm

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/egress"
)

// deliver brings an envelope to another relay, for anyone who controls some DID
// (relay spec §2.7). The proof comes first: a stranger without one sends us nowhere.
func (d *Door) deliver(w http.ResponseWriter, r *http.Request) error {
	c, spent, err := d.spend(r, d.UploadLimit)
	if err != nil {
		return err
	}
	next, err := c.nextAsked()
	if err != nil {
		return err
	}
	endpoint, packed, err := c.letter()
	if err != nil {
		return err
	}
	owner, err := d.Gate.Verify(r.Context(), spent)
	if err != nil {
		return err
	}
	ids, err := d.Outbound.Deliver(r.Context(), endpoint, packed, holders(d.DeliverHolders, r)...)
	if err != nil {
		return undelivered(err)
	}
	if next {
		w.Header().Set("Cache-Control", "no-store")
	}
	return door.JSON(w, http.StatusOK, filed{ids, d.next(r, next, spent, owner)()})
}

// letter returns the packed envelope that a claim has delivered, and where to. The
// body is overwritten.
func (c claim) letter() (endpoint string, packed []byte, err error) {
	endpoint, ok := door.String(c.endpoint)
	if !ok || c.message.Kind() != jsontext.KindString {
		return "", nil, badRequest("endpoint and message must be strings")
	}
	packed, err = unquoted(c.message)
	return endpoint, packed, err
}

// undelivered tells the caller which party failed, and nothing of where it was looked
// for.
func undelivered(err error) error {
	f, ok := errors.AsType[*egress.Failure](err)
	if !ok {
		return err
	}
	return &door.Error{Status: http.StatusBadGateway, Message: f.Message, RetryAfter: f.RetryAfter, Cause: f.Cause}
}
