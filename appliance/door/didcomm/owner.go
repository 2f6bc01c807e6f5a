package didcomm

import (
	"net/http"

	"github.com/holdmail/holdmail/appliance/door"
)

// challenge issues one (relay spec §2.3). HEAD sees none, so it takes none from
// those who do.
func (d *Door) challenge(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	challenge, err := d.Gate.Challenge(r.Context())
	if err != nil {
		return err
	}
	return door.JSON(w, http.StatusOK, struct {
		Challenge string `json:"challenge"`
	}{challenge})
}

// fetch lists what waits for the caller, oldest first (relay spec §2.4).
func (d *Door) fetch(w http.ResponseWriter, r *http.Request) error {
	_, spent, err := d.spend(w, r)
	if err != nil {
		return err
	}
	owner, err := d.Gate.Verify(r.Context(), spent)
	if err != nil {
		return err
	}
	return d.list(w, d.Mailbox.Fetch(r.Context(), owner))
}

// remove acknowledges messages of the caller's (relay spec §2.4).
func (d *Door) remove(w http.ResponseWriter, r *http.Request) error {
	c, spent, err := d.spend(w, r)
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
	return door.JSON(w, http.StatusOK, struct {
		Removed int `json:"removed"`
	}{removed})
}
