package webhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/storage"
)

// known knows every address, and keeps nothing.
type known struct{ Box }

func (known) Registered(storage.Hook) bool { return true }

// purse is what an address has left of its budget.
type purse struct {
	Budgets
	left int
}

func (p *purse) Delivery(*http.Request, storage.Hook) (giveBack func(), err error) {
	p.left--
	return func() { p.left++ }, nil
}

// A delivery that the relay's shortage of memory kept out, before its body or amid
// it, comes again, and is not paid for twice. One that its sender broke off is paid.
func TestWhatLackedMemoryIsNotPaidFor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		body   error // that ends the body
		left   int
		status int
	}{
		{"none from the start", flight.ErrBusy, 1, http.StatusServiceUnavailable},
		{"needed for a faster one", flight.ErrEnded, 1, http.StatusServiceUnavailable},
		{"broken off", io.ErrUnexpectedEOF, 0, http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &purse{left: 1}
			d := New(Options{Box: known{}, Budgets: p, MaxBody: 100, MaxQueue: 1})
			r := httptest.NewRequest(http.MethodPost, "/hooks/a", iotest.ErrReader(tt.body))
			r.SetPathValue("id", "a")
			err := d.deliver(httptest.NewRecorder(), r)
			said, ok := errors.AsType[*door.Error](err)
			if !ok || said.Status != tt.status || !said.Close {
				t.Errorf("deliver = %+v, want %d and the connection's end", err, tt.status)
			}
			if p.left != tt.left {
				t.Errorf("%d left, want %d", p.left, tt.left)
			}
		})
	}
}
