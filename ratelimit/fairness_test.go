package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdmail/holdmail/ratelimit"
)

func TestAFloodGetsItsBudgetAndNobodyElseNotices(t *testing.T) {
	const budget, envelope = 16 << 20, 64 << 10
	d := open(t, map[ratelimit.Class]ratelimit.Budget{
		ratelimit.Deposit: {PerSource: budget, Global: 4 * budget, Window: time.Minute},
	})
	flooder := source("198.51.100.1/32")
	flood := func() (served int64) {
		for {
			if _, err := d.Take(ratelimit.Deposit, flooder, envelope); err != nil {
				return served
			}
			served += envelope
		}
	}
	flood() // its burst: from here its bucket is empty
	var served int64
	const tick = 50 * time.Millisecond
	for i := range 3 * time.Minute / tick {
		d.now = d.now.Add(tick)
		served += flood()
		// Each of ten others spends a tenth of its budget over each window, an
		// envelope at a time.
		if other := i % 47; other < 10 {
			if _, err := d.Take(ratelimit.Deposit, source(fmt.Sprintf("203.0.113.%d/32", other)), envelope); err != nil {
				t.Fatalf("at %v: %v", d.now.Sub(start), err)
			}
		}
	}
	if want := int64(3 * budget); served < want*95/100 || served > want*105/100 {
		t.Errorf("the flood was served %d bytes in three windows, want %d to within 5 %%", served, want)
	}
}
