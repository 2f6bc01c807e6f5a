package didcomm

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/holdmail/holdmail/storage"
)

const (
	// listBuffer is what a listing gathers before it writes, in bytes.
	listBuffer = 32 << 10
	// listMemory is all that a listing holds of a mailbox at one time: with that, a
	// piece of a body as the store gives it.
	listMemory = 2 * listBuffer
	// received is ISO 8601 with milliseconds; in UTC the zone is written Z.
	received = "2006-01-02T15:04:05.000Z07:00"
)

// list writes {"messages":[...]} as the messages come: a page of them, whether there
// are more if p asks for that, and a challenge if next gives one. The status goes
// out with the first full buffer, so an error before that still has an answer of its
// own; one after that ends the connection (door.Handle).
func (d *Door) list(w http.ResponseWriter, messages iter.Seq2[storage.Message, error], p page, next func() string) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := d.buffer(w)
	defer d.keep(out)
	before, listed, more := `{"messages":[`, 0, false
	for m, err := range messages {
		if err != nil {
			return err
		}
		if more = p.limit > 0 && listed == p.limit; more {
			break
		}
		item := listItem{out: out, before: before, message: m}
		if _, err := m.Body.WriteTo(&item); err != nil {
			if errors.Is(err, storage.ErrGone) && !item.begun {
				continue // removed since the list was begun
			}
			return err
		}
		item.end()
		before = ","
		listed++
	}
	if listed == 0 {
		out.WriteString(before)
	}
	out.WriteString("]")
	if p.counted {
		fmt.Fprintf(out, `,"more":%t`, more)
	}
	if challenge := next(); challenge != "" {
		fmt.Fprintf(out, `,"challenge":"%s"`, challenge)
	}
	out.WriteString("}")
	return out.Flush()
}

// buffer returns an empty buffer in front of w.
func (d *Door) buffer(w http.ResponseWriter) *bufio.Writer {
	if out, ok := d.buffers.Get().(*bufio.Writer); ok {
		out.Reset(w)
		return out
	}
	return bufio.NewWriterSize(w, listBuffer)
}

// keep takes a buffer back for the next listing.
func (d *Door) keep(out *bufio.Writer) {
	out.Reset(nil)
	d.buffers.Put(out)
}

// listItem writes one message of a listing. Nothing is written before the first
// piece of the body is there.
type listItem struct {
	out     *bufio.Writer // remembers the first error and passes it to Flush
	before  string
	message storage.Message
	begun   bool
}

// Write writes the next piece of the body.
func (i *listItem) Write(piece []byte) (int, error) {
	i.begin()
	return len(piece), writeEscaped(i.out, piece)
}

func (i *listItem) begin() {
	if i.begun {
		return
	}
	i.begun = true
	i.out.WriteString(i.before)
	i.out.WriteString(`{"id":"`)
	i.out.WriteString(i.message.ID)
	i.out.WriteString(`","message":"`)
}

func (i *listItem) end() {
	i.begin()
	i.out.WriteString(`","received":"`)
	i.out.WriteString(i.message.Received.UTC().Format(received))
	i.out.WriteString(`"}`)
}
