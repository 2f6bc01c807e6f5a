package webhook

import (
	"net/http"

	"github.com/holdmail/holdmail/appliance/door"
)

// protocol is the version of the calls under /relay/v1.
const protocol = 1

// status tells whose relay this is, and how full.
func (d *Door) status(w http.ResponseWriter, r *http.Request) error {
	now, err := d.Box.Status(r.Context())
	if err != nil {
		return err
	}
	var oldest *int64 // Unix milliseconds
	if !now.Oldest.IsZero() {
		at := now.Oldest.UnixMilli()
		oldest = &at
	}
	return door.JSON(w, http.StatusOK, struct {
		Protocol int    `json:"protocol"`
		KeyID    string `json:"keyId"`
		Depth    int64  `json:"depth"`
		Bytes    int64  `json:"bytes"`
		Oldest   *int64 `json:"oldest"`
		Max      int64  `json:"max"`
		MaxBytes int64  `json:"maxBytes"`
	}{protocol, d.Setup.KeyID(), now.Deliveries, now.Bytes, oldest, d.Caps.Deliveries, d.Caps.Bytes})
}
