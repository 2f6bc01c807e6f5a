package storagetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
)

func (b *bench) issue(text string, holders ...storage.Holder) {
	b.Helper()
	if err := b.Challenges.Issue(b.Context(), text, holders...); err != nil {
		b.Fatalf("Issue(%s): %v", text, err)
	}
}

func (b *bench) consume(want bool, text string) {
	b.Helper()
	if live, err := b.Challenges.Consume(b.Context(), text); live != want || err != nil {
		b.Fatalf("Consume(%s) = %v, %v; want %v", text, live, err, want)
	}
}

func testChallenges(t *testing.T, open Open) {
	b := open.open(t, nil)
	b.consume(false, "never issued")
	b.issue("once")
	b.issue("late")
	b.consume(true, "once")
	b.consume(false, "once")
	b.clock.Step(-time.Hour)
	b.clock.Advance(5*time.Minute - time.Nanosecond)
	b.issue("young")
	b.clock.Advance(time.Nanosecond)
	b.consume(false, "late")
	b.clock.Step(24 * time.Hour)
	b.consume(true, "young")
}

func testChallengeCeiling(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.Caps.Challenges = 3 })
	for _, text := range []string{"a", "b", "c"} {
		b.issue(text)
	}
	if err := b.Challenges.Issue(t.Context(), "d"); !errors.Is(err, storage.ErrTooManyChallenges) {
		t.Fatalf("a challenge above the ceiling: %v; want %v", err, storage.ErrTooManyChallenges)
	}
	b.consume(false, "d")
	b.consume(true, "b") // makes room for one
	b.issue("e")
	b.clock.Advance(5 * time.Minute) // makes room for all
	for _, text := range []string{"f", "g", "h"} {
		b.issue(text)
	}
	b.consume(false, "a")
	b.consume(true, "f")
}

func testChallengeHolders(t *testing.T, open Open) {
	b := open.open(t, func(o *storage.Options) { o.Caps.Challenges = 6 })
	ann, bob := storage.Holder{Name: "ann", Most: 2}, storage.Holder{Name: "bob", Most: 2}
	house := storage.Holder{Name: "house", Most: 3}
	refuse := func(text string, holders ...storage.Holder) {
		t.Helper()
		if err := b.Challenges.Issue(t.Context(), text, holders...); !errors.Is(err, storage.ErrTooManyChallenges) {
			t.Fatalf("Issue(%s) for %v: %v; want %v", text, holders, err, storage.ErrTooManyChallenges)
		}
		b.consume(false, text)
	}
	b.issue("a1", ann, house)
	b.issue("a2", ann, house)
	refuse("a3", ann, house)
	refuse("a3", ann)
	b.issue("b1", bob, house)
	refuse("b2", bob, house)
	b.issue("b2", bob) // what was refused is counted to nobody
	b.issue("n1")
	b.issue("n2")
	refuse("n3")
	b.consume(true, "a1")
	b.consume(false, "a1")
	b.issue("a3", ann, house)
	refuse("a4", ann)
	b.clock.Advance(5 * time.Minute)
	for _, text := range []string{"a5", "a6"} {
		b.issue(text, ann, house)
	}
	refuse("a7", ann)
}

func testChallengeRace(t *testing.T, open Open) {
	b := open.open(t, nil)
	for round := range 50 {
		text := fmt.Sprint("challenge ", round)
		b.issue(text)
		var won atomic.Int32
		var g sync.WaitGroup
		for range 8 {
			g.Go(func() {
				if live, err := b.Challenges.Consume(t.Context(), text); err != nil {
					t.Errorf("Consume: %v", err)
				} else if live {
					won.Add(1)
				}
			})
		}
		if g.Wait(); won.Load() != 1 {
			t.Fatalf("%d of 8 consumed one challenge", won.Load())
		}
	}
}
