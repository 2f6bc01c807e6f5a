package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// task is what senders.mjs is to do.
type task struct {
	To      string            `json:"to"`      // where to send
	Public  string            `json:"public"`  // what the world calls that
	Hooks   map[string]string `json:"hooks"`   // the path for each scheme
	First   int               `json:"first"`   // the number of the first message; the schemes take turns
	End     int               `json:"end"`     // one more than that of the last
	Senders int               `json:"senders"` // that send at a time
	Rest    int               `json:"rest"`    // of a sender after each message, in milliseconds
	Hold    int               `json:"hold"`    // one in so many gets no answer from the receiver the first time; 0: none
}

// posted is what a sender reports of one message that was answered with a 2xx.
type posted struct {
	Number  int
	Scheme  string
	Status  int
	Answer  string
	Refused int // tries that were told to come again
	Cut     int // tries without an answer: kept or not, nobody knows
}

// live reports whether the answer is the receiver's own.
func (p posted) live() bool {
	return strings.Contains(p.Answer, "handled") || strings.Contains(p.Answer, "<Message>")
}

// sending is senders.mjs at work.
type sending struct {
	done chan struct{} // closed once it has ended
	out  bytes.Buffer  // what it printed; read once done
	log  output
	err  error // how it ended
}

// startSending lets the senders' own libraries sign and send.
func startSending(t testing.TB, what task) *sending {
	t.Helper()
	installClients(t)
	told, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sending{done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, program(t, "node"), "senders.mjs")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(told), &s.out, &s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.err = cmd.Wait(); close(s.done) }()
	t.Cleanup(func() { cancel(); <-s.done })
	return s
}

// ended reports whether all messages are sent.
func (s *sending) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// report waits for the end and returns what became of each message.
func (s *sending) report(t testing.TB, limit time.Duration) (all []posted) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(limit):
		t.Fatalf("still sending after %v\n%s", limit, &s.log)
	}
	if s.err != nil {
		t.Fatalf("senders.mjs: %v\n%s", s.err, &s.log)
	}
	for line := range bytes.Lines(s.out.Bytes()) {
		var p posted
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("senders.mjs: %v in %q", err, line)
		}
		all = append(all, p)
	}
	return all
}
