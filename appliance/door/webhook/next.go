package webhook

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
)

const (
	maxWait    = time.Minute // of a next call
	maxHolding = 256         // ids that one names
	maxID      = 64          // bytes of an id; a store's are no longer
)

// next hands out deliveries, oldest first, waiting for some if there are none. What
// could not be written to the caller is given back at once, so that it need not wait
// for the lease's end when the home computer comes again.
func (d *Door) next(w http.ResponseWriter, r *http.Request) error {
	ask, err := parseAsk(r.URL.RawQuery)
	if err != nil {
		return err
	}
	batch, err := d.Box.Next(r.Context(), ask)
	if err != nil {
		return err
	}
	if err := d.handOut(r.Context(), w, batch); err != nil {
		d.Box.GiveBack(batch)
		return err
	}
	return nil
}

func parseAsk(query string) (ask hookbox.Ask, err error) {
	asked, err := url.ParseQuery(query)
	if err != nil {
		return hookbox.Ask{}, badRequest("the query is not one")
	}
	wait, ok := number(asked, "wait", 0, int(maxWait.Seconds()))
	if !ok {
		return hookbox.Ask{}, badRequest(fmt.Sprintf("wait must be a whole number of seconds from 0 to %d", int(maxWait.Seconds())))
	}
	if ask.Most, ok = number(asked, "max", hookbox.MaxBatch, hookbox.MaxBatch); !ok {
		return hookbox.Ask{}, badRequest(fmt.Sprintf("max must be a whole number from 0 to %d", hookbox.MaxBatch))
	}
	ask.Wait = time.Duration(wait) * time.Second
	if ask.Holding, ok = holding(asked.Get("holding")); !ok {
		return hookbox.Ask{}, badRequest(fmt.Sprintf("holding must be ids of deliveries with commas between them, %d at most", maxHolding))
	}
	return ask, nil
}

// number is the one that a query has under a name, or byDefault: from 0 to most.
func number(asked url.Values, name string, byDefault, most int) (n int, ok bool) {
	text := asked.Get(name)
	if text == "" {
		return byDefault, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && 0 <= n && n <= most
}

func holding(list string) (ids []string, ok bool) {
	if list == "" {
		return nil, true
	}
	ids = strings.SplitN(list, ",", maxHolding+1)
	for _, id := range ids {
		if id == "" || len(id) > maxID {
			return nil, false
		}
	}
	return ids, len(ids) <= maxHolding
}

// handOut writes {"deliveries":[...]}, holding one of them at a time, and returns nil
// only when all of it left for a caller who is still there.
func (d *Door) handOut(ctx context.Context, w http.ResponseWriter, batch []hookbox.Leased) error {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 32<<10)
	out.WriteString(`{"deliveries":[`)
	before := ""
	for _, one := range batch {
		switch sealed, err := d.Box.Sealed(ctx, one.ID); {
		case errors.Is(err, storage.ErrGone): // acknowledged or expired a moment ago
		case err != nil:
			return err
		default:
			out.WriteString(before)
			writeLeased(out, one, sealed)
			before = ","
		}
	}
	out.WriteString("]}")
	if err := out.Flush(); err != nil {
		return err
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	return ctx.Err()
}

// writeLeased writes one delivery. out remembers the first error.
func writeLeased(out *bufio.Writer, one hookbox.Leased, sealed []byte) {
	fmt.Fprintf(out, `{"id":"%s","hook":"%x","receivedAt":%d,"live":%t,"attempt":%d,"sealed":"`,
		one.ID, one.Hook, one.Received.UnixMilli(), one.Live, one.Attempt)
	text := base64.NewEncoder(base64.StdEncoding, out)
	_, _ = text.Write(sealed)
	_ = text.Close()
	out.WriteString(`"}`)
}
