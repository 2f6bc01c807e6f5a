package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// One source floods deposits while ten others use a tenth of their budgets.
const (
	fairWindow  = 2 * time.Second
	fairBudget  = 40_000 // bytes in a window, of each source
	fairLetter  = 2_000  // bytes
	fairOthers  = 10
	fairWindows = 3 // at least, from when the flood's bucket is first empty to when it is again
)

// fairness is what came of it.
type fairness struct {
	budget  float64         // bytes that refilled in these windows
	kept    int             // bytes of the flood's that were kept in them
	refused int             // deposits of the flood's
	others  []time.Duration // how long each deposit of the others took, shortest first
}

// p99 is how long all but the slowest hundredth of the others' deposits took.
func (f fairness) p99() time.Duration { return f.others[len(f.others)*99/100] }

func measureFairness(t testing.TB) (f fairness) {
	t.Helper()
	r := budgeted(t, fmt.Sprint("ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES=", fairBudget),
		fmt.Sprint("ARCHON_DRAWBRIDGE_DIDCOMM_RATE_LIMIT_WINDOW=", fairWindow.Seconds()))
	to := newWallet(t)
	ended := make(chan struct{})
	var (
		g  sync.WaitGroup
		mu sync.Mutex // guards f.others
	)
	for i := range fairOthers {
		g.Go(func() {
			tick := time.NewTicker(fairWindow * fairLetter / (fairBudget / 10))
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				case <-tick.C:
				}
				began := time.Now()
				a, err := r.from(fmt.Sprintf("198.51.100.%d", i+1), http.MethodPost, "/api/v1/messages", envelope(fairLetter, fmt.Sprint(i, "-", n), to))
				if err != nil || a.Status != http.StatusOK {
					t.Errorf("source %d, at a tenth of its budget: %d %s, %v", i, a.Status, a.Body, err)
				}
				mu.Lock()
				f.others = append(f.others, time.Since(began))
				mu.Unlock()
			}
		})
	}
	f.flood(t, r, to)
	close(ended)
	g.Wait()
	slices.Sort(f.others)
	return f
}

// flood deposits without a pause, from one source. Between two refusals it gets what
// refills meanwhile, however fast the machine is.
func (f *fairness) flood(t testing.TB, r *relay, to wallet) {
	t.Helper()
	letter := envelope(fairLetter, "flood", to)
	var empty time.Time // when the first was refused
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		a, err := r.from("203.0.113.1", http.MethodPost, "/api/v1/messages", letter)
		if err != nil {
			t.Errorf("the flood: %v\n%s", err, r.log)
			return
		}
		refused := a.Status == http.StatusTooManyRequests
		since := time.Since(empty)
		switch {
		case refused && empty.IsZero():
			empty = time.Now()
		case refused:
			f.refused++
			if since >= fairWindows*fairWindow {
				f.budget = fairBudget * since.Seconds() / fairWindow.Seconds()
				return
			}
		case !empty.IsZero():
			f.kept += fairLetter
		}
	}
	t.Error("the flood was not refused within a minute")
}

func TestAFloodGetsItsBudgetAndTakesNobodyElses(t *testing.T) {
	t.Parallel()
	f := measureFairness(t)
	if t.Failed() {
		return
	}
	if share := float64(f.kept) / f.budget; share < 0.95 || share > 1.05 {
		t.Errorf("the flood left %d bytes while %.0f refilled, want the same to within 5 %%", f.kept, f.budget)
	}
	t.Logf("flood: %d bytes kept of a budget of %.0f, %d deposits refused; others: %d deposits, p50 %v, p99 %v",
		f.kept, f.budget, f.refused, len(f.others), f.others[len(f.others)/2], f.p99())
}

func BenchmarkFairness(b *testing.B) {
	for b.Loop() {
		f := measureFairness(b)
		b.ReportMetric(float64(f.kept)/f.budget, "of-budget")
		b.ReportMetric(float64(f.refused), "refused")
		b.ReportMetric(float64(f.p99().Microseconds())/1000, "others-p99-ms")
	}
}
