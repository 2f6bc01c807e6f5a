package didcomm

import (
	"net/http"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
)

// fetch lists what is there for the caller, oldest first, and waits for it if it is
// asked to (relay spec §2.4).
func (d *Door) fetch(w http.ResponseWriter, r *http.Request) error {
	owner, p, next, err := d.fetcher(r)
	if err != nil {
		return err
	}
	load := flight.Of(r.Context())
	load.DropAll() // the claim is done with
	if p.wait > 0 {
		if err := d.Mailbox.Await(r.Context(), owner, p.after, p.wait, holders(d.WaitHolders, r)...); err != nil {
			return err
		}
	}
	if err := load.Hold(listMemory); err != nil {
		return err
	}
	return d.list(w, d.Mailbox.Fetch(r.Context(), owner, p.after), p, next)
}

// fetcher reads who fetches, what, and how the next challenge is issued. Nothing of
// it keeps the body, which may be large, while the fetch waits.
func (d *Door) fetcher(r *http.Request) (owner did.ID, p page, next func() string, err error) {
	c, spent, err := d.spend(r)
	if err != nil {
		return "", page{}, nil, err
	}
	nextAsked, err := c.nextAsked()
	if err != nil {
		return "", page{}, nil, err
	}
	if p, err = c.page(); err != nil {
		return "", page{}, nil, err
	}
	if owner, err = d.Gate.Verify(r.Context(), spent); err != nil {
		return "", page{}, nil, err
	}
	return owner, p, d.next(r, nextAsked, spent, owner), nil
}

// remove acknowledges messages of the caller's (relay spec §2.4).
func (d *Door) remove(w http.ResponseWriter, r *http.Request) error {
	c, spent, err := d.spend(r)
	if err != nil {
		return err
	}
	if err := flight.Of(r.Context()).Hold(int64(len(c.ids))); err != nil {
		return err
	}
	nextAsked, err := c.nextAsked()
	if err != nil {
		return err
	}
	ids, err := c.messageIDs()
	if err != nil {
		return err
	}
	owner, err := d.Gate.Verify(r.Context(), spent)
	if err != nil {
		return err
	}
	removed, err := d.Mailbox.Remove(r.Context(), owner, ids)
	if err != nil {
		return err
	}
	if nextAsked {
		w.Header().Set("Cache-Control", "no-store")
	}
	return door.JSON(w, http.StatusOK, struct {
		Removed   int    `json:"removed"`
		Challenge string `json:"challenge,omitempty"`
	}{removed, d.next(r, nextAsked, spent, owner)()})
}
