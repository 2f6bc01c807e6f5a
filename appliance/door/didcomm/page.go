package didcomm

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/door"
)

const (
	maxWait  = 60 // seconds
	maxLimit = 1000
)

// page is the part of a mailbox that a fetch asks for.
type page struct {
	wait    time.Duration // for the first message of it
	limit   int           // messages; 0 is all
	after   string        // id of the message before it; "" is the beginning
	counted bool          // the answer tells whether there are more
}

// page reads which part of a mailbox a claim asks for. One without any of those
// members asks for all of it, now.
func (c claim) page() (p page, err error) {
	seconds := 0
	if err := whole(c.wait, "wait", 0, maxWait, &seconds); err != nil {
		return page{}, err
	}
	if err := whole(c.limit, "limit", 1, maxLimit, &p.limit); err != nil {
		return page{}, err
	}
	if c.after != nil {
		// That it is an id of this mailbox the store finds out; "" is none.
		if p.after, _ = door.String(c.after); len(p.after) != idLength {
			return page{}, badRequest("after must be the id of a message")
		}
	}
	p.wait = time.Duration(seconds) * time.Second
	p.counted = c.limit != nil || c.after != nil
	return p, nil
}

// whole reads a number into n, if there is a value.
func whole(value jsontext.Value, name string, least, most int, n *int) error {
	if value == nil {
		return nil
	}
	got, ok := door.Whole(value)
	if !ok || got < least || got > most {
		return badRequest(fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most))
	}
	*n = got
	return nil
}
