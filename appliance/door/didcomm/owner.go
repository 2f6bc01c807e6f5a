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
	var f fetching
	// Verifying wants a deep stack, which would stay as large for as long as it waits.
	err := onOwnStack(func() (err error) {
		f, err = d.fetching(r)
		return err
	})
	if err != nil {
		return err
	}
	load := flight.Of(r.Context())
	load.DropAll() // the claim is done with
	if f.page.wait > 0 {
		if err := d.Mailbox.Await(r.Context(), f.owner, f.page.after, f.page.wait, holders(d.WaitHolders, r)...); err != nil {
			return err
		}
	}
	if err := load.Hold(listMemory); err != nil {
		return err
	}
	return d.list(w, d.Mailbox.Fetch(r.Context(), f.owner, f.page.after), f.page, f.next)
}

// fetching is a fetch whose caller has proved to be the owner. It keeps nothing of
// the body, which may be large, while it waits.
type fetching struct {
	owner did.ID
	page  page
	next  func() string // issues the challenge for the next call
}

// fetching reads a fetch and has its caller verified.
func (d *Door) fetching(r *http.Request) (f fetching, err error) {
	c, spent, err := d.spend(r, claimLimit)
	if err != nil {
		return fetching{}, err
	}
	next, err := c.nextAsked()
	if err != nil {
		return fetching{}, err
	}
	if f.page, err = c.page(); err != nil {
		return fetching{}, err
	}
	if f.owner, err = d.Gate.Verify(r.Context(), spent); err != nil {
		return fetching{}, err
	}
	f.next = d.next(r, next, spent, f.owner)
	return f, nil
}

// remove acknowledges messages of the caller's (relay spec §2.4).
func (d *Door) remove(w http.ResponseWriter, r *http.Request) error {
	c, spent, err := d.spend(r, claimLimit)
	if err != nil {
		return err
	}
	next, err := c.nextAsked()
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
	if next {
		w.Header().Set("Cache-Control", "no-store")
	}
	return door.JSON(w, http.StatusOK, struct {
		Removed   int    `json:"removed"`
		Challenge string `json:"challenge,omitempty"`
	}{removed, d.next(r, next, spent, owner)()})
}
