package ratelimit_test

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdmail/holdmail/ratelimit"
)

// exact is a token bucket in whole numbers: of units times the nanoseconds of
// its window, so that a nanosecond refills as many as its burst has units.
type exact struct {
	burst, window int64
	level         int64
}

func (e *exact) refill(d time.Duration) {
	e.level = min(e.burst*e.window, e.level+e.burst*int64(d))
}

// missing is how many nanoseconds it takes until the bucket has cost.
func (e *exact) missing(cost int64) float64 {
	return float64(min(cost, e.burst)*e.window-e.level) / float64(e.burst)
}

func (e *exact) spend(cost int64) { e.level -= min(cost, e.burst) * e.window }

// world is a limiter of deposits beside its exact model, in which no source is
// ever forgotten.
type world struct {
	budget ratelimit.Budget
	l      *ratelimit.Limiter
	now    time.Time
	models map[netip.Prefix]*exact
}

var everybody = netip.MustParsePrefix("::/0")

func newWorld(t *rapid.T, maxSources int) *world {
	perSource := rapid.Int64Range(1, 1000).Draw(t, "per source")
	w := &world{
		budget: ratelimit.Budget{
			PerSource: perSource,
			Global:    rapid.Int64Range(perSource, 10_000).Draw(t, "global"),
			Window:    time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(100*time.Second)).Draw(t, "window")),
		},
		now:    start,
		models: map[netip.Prefix]*exact{},
	}
	w.l = ratelimit.New(ratelimit.Options{
		Budgets:    map[ratelimit.Class]ratelimit.Budget{ratelimit.Deposit: w.budget},
		MaxSources: maxSources,
		Now:        func() time.Time { return w.now },
	})
	return w
}

// pass lets some of the window pass.
func (w *world) pass(t *rapid.T) {
	d := time.Duration(rapid.Int64Range(0, int64(w.budget.Window)).Draw(t, "pause") >> rapid.IntRange(0, 20).Draw(t, "shift"))
	w.now = w.now.Add(d)
	for _, m := range w.models {
		m.refill(d)
	}
}

// buckets are the exact ones that a source spends from, by whose they are.
func (w *world) buckets(from ratelimit.Source) map[netip.Prefix]*exact {
	found := map[netip.Prefix]*exact{}
	for of, budget := range w.budgets(from) {
		if w.models[of] == nil {
			w.models[of] = &exact{burst: budget, window: int64(w.budget.Window), level: budget * int64(w.budget.Window)}
		}
		found[of] = w.models[of]
	}
	return found
}

// budgets are those that a source spends from, by whose they are.
func (w *world) budgets(from ratelimit.Source) map[netip.Prefix]int64 {
	found := map[netip.Prefix]int64{everybody: w.budget.Global}
	if from.Key.IsValid() {
		found[from.Key] = w.budget.PerSource
	}
	if from.Ceiling.IsValid() {
		found[from.Ceiling] = 4 * w.budget.PerSource
	}
	return found
}

// sources draws one of a few: nobody, IPv4 addresses, and IPv6 networks under
// two ceilings.
func sources() *rapid.Generator[ratelimit.Source] {
	some := []ratelimit.Source{{}}
	for i := range 3 {
		some = append(some, source(fmt.Sprintf("203.0.113.%d/32", i)))
	}
	for i := range 12 {
		house := netip.MustParsePrefix(fmt.Sprintf("2001:db8:%d::/48", i%2))
		some = append(some, ratelimit.Source{Key: netip.MustParsePrefix(fmt.Sprintf("2001:db8:%d:%d::/64", i%2, i)), Ceiling: house})
	}
	return rapid.SampledFrom(some)
}

// slack is how far the limiter's floating point may be from the exact model, in
// nanoseconds of refill.
const slack = 2

func TestEveryChargeIsDecidedAsTheExactModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 100)
		for range rapid.IntRange(1, 200).Draw(t, "charges") {
			w.pass(t)
			from := sources().Draw(t, "source")
			cost := rapid.Int64Range(1, 2*w.budget.PerSource).Draw(t, "cost")
			missing := math.Inf(-1)
			for _, m := range w.buckets(from) {
				missing = max(missing, m.missing(cost))
			}
			_, err := w.l.Take(ratelimit.Deposit, from, cost)
			if err == nil && missing > slack || err != nil && missing < -slack {
				t.Fatalf("Take(%v, %d) = %v; to the exact model %v ns of refill are missing", from, cost, err, missing)
			}
			if err != nil {
				continue // and charged to none
			}
			for _, m := range w.buckets(from) {
				m.spend(cost)
			}
		}
	})
}

// spent is a part of a charge that one bucket bore.
type spent struct {
	at    time.Time
	units int64
}

// held is a receipt and what it has cost.
type held struct {
	*ratelimit.Receipt
	of    map[netip.Prefix][]spent
	gone  bool // given back
	total int64
}

// grow notes that the charge is now one of total.
func (h *held) grow(w *world, from ratelimit.Source, total int64) {
	for of, budget := range w.budgets(from) {
		if rest := min(total, budget) - min(h.total, budget); rest > 0 {
			h.of[of] = append(h.of[of], spent{w.now, rest})
		}
	}
	h.total = max(h.total, total)
}

// Whatever is taken, taken in two parts and given back at whatever times: what
// is kept of it in any stretch of time is a budget and the stretch's refill, to a
// unit for each time something was given back.
func TestNoStretchOfTimeHasMoreThanABudgetAndItsRefill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 100)
		var receipts []*held
		from := map[*held]ratelimit.Source{}
		backs := 0
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.pass(t)
			cost := rapid.Int64Range(1, 2*w.budget.PerSource).Draw(t, "cost")
			step := rapid.IntRange(0, 3).Draw(t, "step")
			if step < 2 || len(receipts) == 0 {
				who := sources().Draw(t, "source")
				if r, err := w.l.Take(ratelimit.Deposit, who, cost); err == nil {
					h := &held{Receipt: r, of: map[netip.Prefix][]spent{}}
					h.grow(w, who, cost)
					receipts, from[h] = append(receipts, h), who
				}
				continue
			}
			h := rapid.SampledFrom(receipts).Draw(t, "receipt")
			switch {
			case h.gone:
			case step == 2 && h.More(cost) == nil:
				h.grow(w, from[h], cost)
			case step == 3:
				h.GiveBack()
				fallthrough
			default:
				h.gone = true
				backs++
			}
		}
		kept := map[netip.Prefix][]spent{}
		budgets := map[netip.Prefix]int64{}
		for _, h := range receipts {
			for of, parts := range h.of {
				budgets[of] = w.budgets(from[h])[of]
				if !h.gone {
					kept[of] = append(kept[of], parts...)
				}
			}
		}
		for of, parts := range kept {
			checkStretches(t, of, parts, budgets[of], w.budget.Window, backs)
		}
	})
}

// checkStretches looks at every stretch from one charge to another.
func checkStretches(t *rapid.T, of netip.Prefix, parts []spent, budget int64, window time.Duration, backs int) {
	slices.SortFunc(parts, func(a, b spent) int { return a.at.Compare(b.at) })
	for i, first := range parts {
		var sum int64
		for _, last := range parts[i:] {
			sum += last.units
			stretch := last.at.Sub(first.at)
			most := float64(budget) * (1 + float64(stretch+slack)/float64(window))
			if float64(sum) > most+float64(backs) {
				t.Fatalf("%v spent %d in %v; a budget of %d in %v gives %v", of, sum, stretch, budget, window, most)
			}
		}
	}
}

func TestASmallTableKeepsTheGlobalBudgetAllTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 3)
		for range rapid.IntRange(1, 200).Draw(t, "charges") {
			w.pass(t)
			from := sources().Draw(t, "source")
			cost := rapid.Int64Range(1, w.budget.PerSource).Draw(t, "cost")
			global := w.buckets(nobody)[everybody]
			missing := global.missing(cost)
			_, err := w.l.Take(ratelimit.Deposit, from, cost)
			if err == nil && missing > slack {
				t.Fatalf("Take(%v, %d) was granted; the global budget misses %v ns of refill", from, cost, missing)
			}
			if err != nil && missing < -slack && !from.Key.IsValid() {
				t.Fatalf("Take(%v, %d) was refused; the global budget has it", from, cost)
			}
			if err == nil {
				global.spend(cost)
			}
		}
	})
}
