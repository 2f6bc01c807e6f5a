package ratelimit_test

import (
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/holdmail/holdmail/ratelimit"
)

// desk is a limiter on a clock that stands still until it is moved.
type desk struct {
	testing.TB
	*ratelimit.Limiter
	now time.Time
}

// start is no whole second.
var start = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func open(t testing.TB, budgets map[ratelimit.Class]ratelimit.Budget) *desk {
	d := &desk{TB: t, now: start}
	d.Limiter = ratelimit.New(ratelimit.Options{Budgets: budgets, MaxSources: 100, Now: func() time.Time { return d.now }})
	return d
}

// reads opens a desk with a budget of reads only.
func reads(t testing.TB, perSource, global int64, window time.Duration) *desk {
	return open(t, map[ratelimit.Class]ratelimit.Budget{ratelimit.Read: {PerSource: perSource, Global: global, Window: window}})
}

// granted fails the test unless the charge is made.
func (d *desk) granted(from ratelimit.Source, cost int64) *ratelimit.Receipt {
	d.Helper()
	r, err := d.Take(ratelimit.Read, from, cost)
	if err != nil {
		d.Fatalf("Take(%v, %d): %v", from, cost, err)
	}
	return r
}

// refused fails the test unless the charge must wait for after.
func (d *desk) refused(from ratelimit.Source, cost int64, after time.Duration) *ratelimit.Refusal {
	d.Helper()
	r, err := d.Take(ratelimit.Read, from, cost)
	if r != nil {
		d.Fatalf("Take(%v, %d) was granted", from, cost)
	}
	return d.refusal(err, after)
}

func (d *desk) refusal(err error, after time.Duration) *ratelimit.Refusal {
	d.Helper()
	refusal, ok := errors.AsType[*ratelimit.Refusal](err)
	if !ok || refusal.RetryAfter != after {
		d.Fatalf("error = %v, want a refusal for %v", err, after)
	}
	return refusal
}

// has fails the test unless exactly that much is left for a source. It leaves it
// there.
func (d *desk) has(from ratelimit.Source, want int64) {
	d.Helper()
	all := d.granted(from, want)
	defer all.GiveBack()
	if _, err := d.Take(ratelimit.Read, from, 1); err == nil {
		d.Fatalf("%v has more than %d left", from, want)
	}
}

var nobody ratelimit.Source

// source is an address that has a budget of its own.
func source(prefix string) ratelimit.Source {
	return ratelimit.Source{Key: netip.MustParsePrefix(prefix)}
}

func TestEachSourceHasItsBudget(t *testing.T) {
	d := reads(t, 3, 100, time.Minute)
	ann, bob := source("203.0.113.1/32"), source("2001:db8::/64")
	for range 3 {
		d.granted(ann, 1)
	}
	d.refused(ann, 1, 20*time.Second)
	d.has(bob, 3)
	d.now = d.now.Add(20 * time.Second)
	d.granted(ann, 1)
	d.refused(ann, 1, 20*time.Second)
}

func TestEverybodySharesTheGlobalBudget(t *testing.T) {
	d := reads(t, 3, 5, time.Minute)
	d.granted(source("203.0.113.1/32"), 3)
	d.granted(source("203.0.113.2/32"), 2)
	d.refused(source("203.0.113.3/32"), 1, 12*time.Second)
	d.refused(nobody, 1, 12*time.Second)
}

func TestNobodyHasTheGlobalBudgetOnly(t *testing.T) {
	d := reads(t, 3, 100, time.Minute)
	d.granted(nobody, 100)
	d.refused(nobody, 1, time.Second)
}

func TestACeilingHasFourBudgets(t *testing.T) {
	d := reads(t, 3, 100, time.Minute)
	house := func(prefix string) ratelimit.Source {
		return ratelimit.Source{Key: netip.MustParsePrefix(prefix), Ceiling: netip.MustParsePrefix("2001:db8::/48")}
	}
	for _, one := range []string{"2001:db8::/64", "2001:db8:0:1::/64", "2001:db8:0:2::/64", "2001:db8:0:3::/64"} {
		d.granted(house(one), 3)
	}
	d.refused(house("2001:db8:0:4::/64"), 1, 5*time.Second)
	d.has(source("2001:db8:1::/64"), 3)
}

func TestAKeyAsWideAsItsCeilingIsNotChargedTwice(t *testing.T) {
	d := reads(t, 3, 100, time.Minute)
	wide := netip.MustParsePrefix("2001:db8::/48")
	d.has(ratelimit.Source{Key: wide, Ceiling: wide}, 3)
}

func TestARefusalIsChargedToNone(t *testing.T) {
	d := reads(t, 6, 10, time.Minute)
	ann, bob := source("203.0.113.1/32"), source("203.0.113.2/32")
	d.granted(ann, 5)
	d.refused(ann, 2, 10*time.Second)
	d.has(nobody, 5)
	d.granted(nobody, 3)
	d.refused(bob, 3, 6*time.Second)
	d.granted(nobody, 2)
	d.now = d.now.Add(time.Minute)
	d.has(bob, 6)
}

func TestACostAboveABudgetNeedsAndSpendsAllOfIt(t *testing.T) {
	d := reads(t, 10, 25, time.Minute)
	ann := source("203.0.113.1/32")
	for _, cost := range []int64{11, 1 << 40, math.MaxInt64} {
		d.granted(ann, 1)
		d.refused(ann, cost, 6*time.Second)
		d.now = d.now.Add(time.Minute)
		d.granted(ann, cost)
		d.refused(ann, 1, 6*time.Second)
		d.now = d.now.Add(time.Minute)
	}
}

func TestCostsOfNothing(t *testing.T) {
	d := reads(t, 1, 1, time.Minute)
	d.granted(nobody, 1)
	for _, cost := range []int64{0, -1, math.MinInt64} {
		d.granted(nobody, cost)
	}
	d.refused(nobody, 1, time.Minute)
}

func TestClassesAreApart(t *testing.T) {
	d := open(t, map[ratelimit.Class]ratelimit.Budget{
		ratelimit.Read:    {PerSource: 1, Global: 1, Window: time.Minute},
		ratelimit.Deposit: {PerSource: 1, Global: 1, Window: time.Minute},
	})
	ann := source("203.0.113.1/32")
	for _, class := range []ratelimit.Class{ratelimit.Read, ratelimit.Deposit, "free", "free"} {
		if _, err := d.Take(class, ann, 1); err != nil {
			t.Errorf("%s: %v", class, err)
		}
	}
}

func TestBudgetsThatNoIntOfASmallBoardHolds(t *testing.T) {
	for _, budget := range []int64{math.MaxInt32, math.MaxInt32 + 1, 1 << 32, 1 << 50, math.MaxInt64} {
		d := reads(t, budget, budget, time.Minute)
		half := budget / 2
		d.granted(nobody, half)
		d.granted(nobody, half-half/100)
		d.refused(nobody, half, 30*time.Second)
		d.now = d.now.Add(30 * time.Second)
		d.granted(nobody, half)
	}
}

func TestSmallCostsOfAHugeBudgetAreRoundedUp(t *testing.T) {
	d := reads(t, 1, 1<<50, time.Minute) // counted in units of a MiB and less
	for range 1000 {
		d.granted(nobody, 1)
	}
	d.refused(nobody, 1<<50, time.Second)
	d.granted(nobody, 1<<50-1000<<20)
}
