package didcomm

import (
	"errors"
	"net/http"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/storage"
)

type health struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

// health tells whether a deposit could be kept now (relay spec §2.1).
func (d *Door) health(w http.ResponseWriter, r *http.Request) error {
	err := d.Mailbox.Ready(r.Context())
	if err == nil {
		return door.JSON(w, http.StatusOK, health{Ready: true})
	}
	why := reason(err)
	return &door.Error{
		Status:  http.StatusServiceUnavailable,
		Message: why,
		Body:    health{Reason: why},
		Cause:   err,
	}
}

// reason is what a stranger may know of err: no file's name, no number.
func reason(err error) string {
	for _, known := range []error{storage.ErrNoRoom, storage.ErrBroken, storage.ErrClosed, storage.ErrFull} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "storage is not ready"
}

// capabilities tells a wallet, before it sends, what its node can do.
func (d *Door) capabilities(w http.ResponseWriter, _ *http.Request) error {
	return door.JSON(w, http.StatusOK, struct {
		DIDComm   bool `json:"didcomm"`
		Lightning bool `json:"lightning"`
		Names     bool `json:"names"`
	}{DIDComm: true})
}

// endpoint tells a wallet which address to publish.
func (d *Door) endpoint(w http.ResponseWriter, _ *http.Request) error {
	var answer struct {
		Endpoint *string `json:"endpoint"`
	}
	if d.Endpoint != "" {
		answer.Endpoint = &d.Endpoint
	}
	return door.JSON(w, http.StatusOK, answer)
}
