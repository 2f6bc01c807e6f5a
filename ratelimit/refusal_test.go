package ratelimit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdmail/holdmail/ratelimit"
)

func TestResetAtIsAWholeSecondNotTooEarly(t *testing.T) {
	for _, tt := range []struct {
		now  time.Time
		want int64 // unix seconds after start's
	}{
		{start, 21}, // 20 s after 0.678
		{start.Truncate(time.Second), 20},
		{start.Truncate(time.Second).Add(time.Nanosecond), 21},
	} {
		d := reads(t, 3, 100, time.Minute)
		d.now = tt.now
		ann := source("203.0.113.1/32")
		d.granted(ann, 3)
		if got := d.refused(ann, 1, 20*time.Second).ResetAt; !got.Equal(time.Unix(start.Unix()+tt.want, 0)) {
			t.Errorf("at %v ResetAt is %v, want %d s after %v", tt.now, got, tt.want, start)
		}
	}
}

func TestARefusalSaysWhenToComeAgain(t *testing.T) {
	d := reads(t, 1, 1, time.Minute)
	d.granted(nobody, 1)
	if got := d.refused(nobody, 1, time.Minute).Error(); got != "rate limit exceeded, retry in 1m0s" {
		t.Errorf("Error = %q", got)
	}
}

// Whatever was spent, and at whatever fraction of a second: whoever comes when
// told gets in, and a second earlier would not have.
func TestARefusalIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "window"))
		})
		perSource := rapid.Int64Range(1, 1<<40).Draw(t, "per source")
		now := start
		l := ratelimit.New(ratelimit.Options{
			Budgets: map[ratelimit.Class]ratelimit.Budget{ratelimit.Deposit: {
				PerSource: perSource,
				Global:    rapid.Int64Range(perSource, 1<<41).Draw(t, "global"),
				Window:    window.Draw(t, "window"),
			}},
			MaxSources: 10,
			Now:        func() time.Time { return now },
		})
		ann := source("203.0.113.1/32")
		cost := rapid.Int64Range(1, 2*perSource)
		for range rapid.IntRange(1, 20).Draw(t, "charges") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause")))
			c := cost.Draw(t, "cost")
			_, err := l.Take(ratelimit.Deposit, ann, c)
			if err == nil {
				continue
			}
			refusal := err.(*ratelimit.Refusal)
			asked := now
			if refusal.ResetAt.Before(asked.Add(refusal.RetryAfter)) || refusal.ResetAt.After(asked.Add(refusal.RetryAfter+time.Second)) {
				t.Fatalf("at %v: RetryAfter %v, ResetAt %v", asked, refusal.RetryAfter, refusal.ResetAt)
			}
			if early := refusal.RetryAfter - time.Second; early > 0 {
				now = asked.Add(early - 2)
				if _, err := l.Take(ratelimit.Deposit, ann, c); err == nil {
					t.Fatalf("told to wait %v, and let in a second earlier", refusal.RetryAfter)
				}
			}
			now = asked.Add(refusal.RetryAfter)
			if _, err := l.Take(ratelimit.Deposit, ann, c); err != nil {
				t.Fatalf("refused after %v: %v", refusal.RetryAfter, err)
			}
		}
	})
}
