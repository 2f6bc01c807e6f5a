package challenge

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
)

func TestHoldersWithoutChallengesAreForgotten(t *testing.T) {
	c := clock.NewFake(time.Unix(0, 0))
	table := New(storage.Options{Caps: storage.Caps{Challenges: 100}, ChallengeTTL: time.Minute, Clock: c})
	issue := func(text string, i int) {
		t.Helper()
		one, all := storage.Holder{Name: fmt.Sprint("source ", i), Most: 1}, storage.Holder{Name: "listener", Most: 100}
		if err := table.Issue(t.Context(), text, one, all); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		issue(fmt.Sprint("challenge ", i), i)
	}
	if len(table.held) != 101 {
		t.Fatalf("%d holders, want 101", len(table.held))
	}
	for i := range 50 {
		if live, err := table.Consume(t.Context(), fmt.Sprint("challenge ", i)); !live || err != nil {
			t.Fatalf("Consume = %v, %v", live, err)
		}
	}
	if len(table.held) != 51 {
		t.Errorf("%d holders after half were consumed, want 51", len(table.held))
	}
	c.Advance(time.Minute)
	issue("one", 1)
	issue("two", 2)
	if len(table.held) != 3 || table.held["listener"] != 2 {
		t.Errorf("holders after the rest expired: %v", table.held)
	}
}
