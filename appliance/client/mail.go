package client

import (
	"encoding/json"
	"fmt"
	"io"
)

// readMail puts the messages of an answer to a fetch onto shelf, each as soon as
// it has come whole. The members of the answer may stand in any order, and others
// beside them are passed over.
func readMail(answer io.Reader, shelf Shelf) error {
	m := mail{scanner: newScanner(answer), shelf: shelf}
	if err := m.members(m.member); err != nil {
		return err
	}
	if !m.listed {
		return fmt.Errorf("%w: it lists no messages", errNoAnswer)
	}
	return m.end()
}

// mail is an answer to a fetch while it is read.
type mail struct {
	scanner
	shelf  Shelf
	listed bool // the list was read
}

func (m *mail) member(name string) error {
	if name != "messages" {
		_, err := m.value()
		return err
	}
	if m.listed {
		return fmt.Errorf("%w: it lists messages twice", errNoAnswer)
	}
	m.listed = true
	return m.items(m.message)
}

// message reads one message and puts it onto the shelf.
func (m *mail) message() error {
	var l Label
	seen := map[string]bool{}
	err := m.members(func(name string) error {
		if seen[name] {
			return fmt.Errorf("%w: a message has the same member twice", errNoAnswer)
		}
		switch name {
		case "id":
			seen[name] = true
			return m.into(&l.ID)
		case "received":
			seen[name] = true
			return m.into(&l.Received)
		case "message":
			seen[name] = true
			return m.envelope()
		default:
			_, err := m.value()
			return err
		}
	})
	switch {
	case err != nil:
		return err
	case l.ID == "" || !seen["message"]:
		return fmt.Errorf("%w: a message has no id or no envelope", errNoAnswer)
	default:
		return m.shelf.Keep(l)
	}
}

// envelope passes on the bytes of an envelope as they come.
func (m *mail) envelope() error {
	w, err := m.shelf.Begin()
	if err != nil {
		return err
	}
	return m.text(w)
}

// into decodes a short value.
func (m *mail) into(v any) error {
	raw, err := m.value()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return nil
}
