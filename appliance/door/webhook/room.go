package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

const (
	// queueFor is how long a delivery waits for memory, before anything of its body is
	// read. A sender would rather wait a little than come again.
	queueFor = 5 * time.Second
	// busyRetryAfter is when those come again who have waited in vain.
	busyRetryAfter = 2 * time.Second
	// headerRoom is more than headerBytes can be of what the server lets in: lines of
	// five bytes, each counted as a name and a value of one.
	headerRoom = 96 << 10
	// headerForm is what stands around a header, in bytes, before quoting doubles it.
	headerForm = len(`["",{"base64":""}],`)/2 + 1
)

// PlaintextFor is what is sealed of a delivery with a body of so many bytes, at most.
// Quoting may double them.
func PlaintextFor(body int64) int64 { return 2 * (body + headerRoom) }

// MemoryFor is what such a delivery holds at most, in bytes.
func MemoryFor(body int64) int64 { return memory(body, headerRoom) }

// memory is what a delivery holds at most while it is sealed and kept, which is more
// than while it is read: the plaintext and as much sealed.
func memory(body, headers int64) int64 {
	return 4*(body+headers) + hookbox.Overhead + 8<<10
}

// admit charges a delivery, and sees to it that there is memory for all of it: one
// that is read in part and then has none would have held it in vain. It returns
// flight.ErrBusy when there is none in time, and what the budgets do.
//
// A wait is not paid for. A charge that is held for so long cannot be given back,
// since its budget has refilled meanwhile: who has to wait is charged behind it.
func (d *Door) admit(r *http.Request, hook storage.Hook) (giveBack func(), err error) {
	if giveBack, err = d.Budgets.Delivery(r, hook); err != nil {
		return nil, err
	}
	// What is too long finds memory never.
	if err := door.RawRefusedUnread(r, d.MaxBody); err != nil {
		return nil, err
	}
	need := d.need(r)
	if err = flight.Of(r.Context()).Hold(need); err == nil {
		return giveBack, nil
	}
	giveBack()
	if err := d.await(r, need); err != nil {
		return nil, err
	}
	return d.Budgets.Delivery(r, hook)
}

// await waits for memory, in the queue of those who do.
func (d *Door) await(r *http.Request, need int64) error {
	select {
	case d.queue <- struct{}{}:
		defer func() { <-d.queue }()
	default:
		return flight.ErrBusy
	}
	ctx, cancel := context.WithTimeout(r.Context(), queueFor)
	defer cancel()
	return flight.Of(r.Context()).Await(ctx, need)
}

// need is the memory that a delivery is to have, by what it declares.
func (d *Door) need(r *http.Request) int64 {
	length := r.ContentLength
	if length < 0 {
		length = d.MaxBody
	}
	return memory(length, headerBytes(r))
}

// headerBytes is what headers and URL take, in bytes: half of what is written down
// of them at the most.
func headerBytes(r *http.Request) int64 {
	size := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + headerForm
		}
	}
	return int64(size)
}

// body reads a delivery's body as it was sent, into the memory that it has.
func (d *Door) body(r *http.Request) ([]byte, error) {
	body, err := door.Raw(r, d.MaxBody)
	if err != nil {
		return nil, err
	}
	flight.Of(r.Context()).Drop(d.need(r) - memory(int64(len(body)), headerBytes(r)))
	return body, nil
}
