package pickup

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
)

// Lines writes each message to a file or pipe as one line of JSON, with the
// members that a relay's answer has. A message that does not come whole is no
// line, so one message at a time is held in memory.
type Lines struct {
	Out *os.File

	next bytes.Buffer
}

// line is a message on its line.
type line struct {
	ID       string    `json:"id"`
	Message  string    `json:"message"`
	Received time.Time `json:"received,omitzero"`
}

// Begin forgets what did not come whole.
func (l *Lines) Begin() (io.Writer, error) {
	l.next.Reset()
	return &l.next, nil
}

// Keep writes the line.
func (l *Lines) Keep(label client.Label) error {
	encoder := json.NewEncoder(l.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line{ID: label.ID, Message: l.next.String(), Received: label.Received})
}

// Sync makes a file's lines survive a crash. What is in a pipe is in the hands of
// its reader.
func (l *Lines) Sync() error {
	stat, err := l.Out.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return err
	}
	return l.Out.Sync()
}
