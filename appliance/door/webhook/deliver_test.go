package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

// known knows every address, and keeps nothing.
type known struct{ Box }

func (known) Registered(storage.Hook) bool { return true }

func (known) Deliver(context.Context, storage.Hook, []byte) (*hookbox.Sender, error) { return nil, nil }

// purse is what an address has left of its budget. Like that, it takes nothing back
// that was held for a while.
type purse struct {
	Budgets
	left int
}

func (p *purse) Delivery(*http.Request, storage.Hook) (giveBack func(), err error) {
	p.left--
	taken := time.Now()
	return func() {
		if time.Since(taken) == 0 {
			p.left++
		}
	}, nil
}

// A delivery that the relay's shortage of memory kept out, before its body or amid
// it, comes again, and is not paid for twice. One that its sender broke off is paid.
func TestWhatLackedMemoryIsNotPaidFor(t *testing.T) {
	const total = 1 << 20
	for _, tt := range []struct {
		name   string
		held   int64         // of the memory, by another
		freed  time.Duration // when that is given back
		queue  int
		body   error // that ends the body
		left   int
		status int // 0: it is kept
	}{
		{"none, and a full queue", total / 2, time.Hour, 0, io.EOF, 1, http.StatusServiceUnavailable},
		{"none for too long", total / 2, time.Hour, 1, io.EOF, 1, http.StatusServiceUnavailable},
		{"some after a wait", total / 2, queueFor / 2, 1, io.EOF, 0, 0},
		{"enough at once", 0, 0, 1, io.EOF, 0, 0},
		{"needed for a faster one", 0, 0, 1, flight.ErrEnded, 1, http.StatusServiceUnavailable},
		{"broken off", 0, 0, 1, io.ErrUnexpectedEOF, 0, http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := flight.NewBudget(total)
				other, load := memory.Begin(nil), memory.Begin(nil)
				if err := other.Hold(tt.held); err != nil {
					t.Fatal(err)
				}
				other.Settle() // it does not make room for others
				time.AfterFunc(tt.freed, other.DropAll)
				p := &purse{left: 1}
				d := New(Options{Box: known{}, Budgets: p, MaxBody: total / 8, MaxQueue: tt.queue})
				r := httptest.NewRequest(http.MethodPost, "/hooks/a", iotest.ErrReader(tt.body))
				r.SetPathValue("id", "a")
				err := d.deliver(httptest.NewRecorder(), r.WithContext(flight.With(t.Context(), load)))
				said, refused := errors.AsType[*door.Error](err)
				if refused != (tt.status != 0) || refused && (said.Status != tt.status || !said.Close) {
					t.Errorf("deliver = %+v, want %d and the connection's end", err, tt.status)
				}
				if p.left != tt.left {
					t.Errorf("%d left, want %d", p.left, tt.left)
				}
			})
		})
	}
}
