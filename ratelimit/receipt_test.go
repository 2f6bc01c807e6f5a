package ratelimit_test

import (
	"testing"
	"time"
)

func TestMoreChargesTheRest(t *testing.T) {
	d := reads(t, 10, 20, time.Minute)
	ann := source("203.0.113.1/32")
	r := d.granted(ann, 4)
	for _, tt := range []struct{ total, left int64 }{{7, 3}, {7, 3}, {2, 3}, {10, 0}} {
		if err := r.More(tt.total); err != nil {
			t.Fatalf("More(%d): %v", tt.total, err)
		}
		d.has(ann, tt.left)
	}
	d.has(nobody, 10)
}

func TestMoreOfAWholeBudgetCostsNoMoreOfIt(t *testing.T) {
	d := reads(t, 10, 25, time.Minute)
	r := d.granted(source("203.0.113.1/32"), 12)
	if err := r.More(20); err != nil {
		t.Fatal(err)
	}
	d.has(nobody, 5)
	if err := r.More(1 << 60); err != nil {
		t.Fatal(err)
	}
	d.refused(nobody, 1, 3*time.Second)
}

func TestMoreThatIsRefusedGivesTheFirstBack(t *testing.T) {
	d := reads(t, 10, 100, time.Minute)
	ann := source("203.0.113.1/32")
	r := d.granted(ann, 2)
	d.granted(ann, 5)
	d.refusal(r.More(6), 6*time.Second) // 3 and 2 are there, of 6
	d.has(ann, 5)
	d.has(nobody, 95)
	r.GiveBack() // of nothing
	d.has(ann, 5)
}

func TestMoreRefusedByTheGlobalBudgetGivesAllBack(t *testing.T) {
	d := reads(t, 10, 12, time.Minute)
	ann := source("203.0.113.1/32")
	r := d.granted(ann, 4)
	d.granted(nobody, 8)
	d.refusal(r.More(5), 5*time.Second)
	d.granted(nobody, 4)
	d.now = d.now.Add(time.Minute)
	d.has(ann, 10)
}

func TestAReceiptKeepsWhatItPaidLongAgo(t *testing.T) {
	d := reads(t, 10, 100, time.Minute)
	ann := source("203.0.113.1/32")
	r := d.granted(ann, 4)
	d.now = d.now.Add(time.Hour)
	d.granted(ann, 3)
	if err := r.More(10); err != nil {
		t.Fatal(err)
	}
	d.has(ann, 1)
}

func TestGiveBackIsGoodOnce(t *testing.T) {
	d := reads(t, 10, 10, time.Minute)
	d.granted(nobody, 4)
	r := d.granted(nobody, 3)
	for range 3 {
		r.GiveBack()
		d.has(nobody, 6)
	}
}

func TestGiveBackNeverPassesTheBudget(t *testing.T) {
	d := reads(t, 10, 10, time.Minute)
	ann := source("203.0.113.1/32")
	for _, away := range []time.Duration{0, time.Millisecond, 7 * time.Second, 59 * time.Second, time.Minute, time.Hour} {
		r := d.granted(ann, 10)
		d.now = d.now.Add(away)
		r.GiveBack()
		d.has(ann, 10)
	}
}

func TestReceiptsHeldOpenSaveNothingUp(t *testing.T) {
	d := reads(t, 10, 1000, time.Minute)
	ann := source("203.0.113.1/32")
	r := d.granted(ann, 10)
	d.now = d.now.Add(time.Minute)
	d.granted(ann, 10)
	r.GiveBack() // the refill it is worth has been spent
	d.refused(ann, 1, 6*time.Second)
}

func TestGiveBackLessWhatWasRefilled(t *testing.T) {
	d := reads(t, 10, 1000, time.Minute)
	ann := source("203.0.113.1/32")
	d.granted(ann, 6)
	r := d.granted(ann, 4)
	d.now = d.now.Add(18 * time.Second) // refills 3
	d.granted(ann, 3)
	r.GiveBack()
	d.has(ann, 1)
}
