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

func (b *bench) issue(text string) {
	b.Helper()
	if err := b.Challenges.Issue(b.Context(), text); err != nil {
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
