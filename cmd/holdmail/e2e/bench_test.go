package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks in this file put a relay under load over HTTP. Load and relay
// share the machine's processors (on a larger machine, `taskset -c 0,1 go test`
// gives them two), and the µs of processor time per operation are reported for
// both. peak-MiB is the most RssAnon seen meanwhile.
//
// The limit that a share is of: a commit syncs twice, so with as many deposits
// under way as there are connections, connections/(2 fdatasync) a second; for
// pickup loops that, or as many times as one core can verify two signatures.

// engines are the two places to keep mail.
func engines() []string { return []string{"bolt", "memory"} }

// startWide starts a relay whose caps bind nowhere.
func startWide(b testing.TB, engine string) *relay {
	b.Helper()
	return startRelay(b, wide("ARCHON_DIDCOMM_DB="+engine)...)
}

// wide is the settings of a relay whose caps bind nowhere, with others added.
func wide(env ...string) []string {
	return append([]string{
		"ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=1099511627776",
		"ARCHON_DIDCOMM_MAX_TOTAL_BYTES=1099511627776",
		"HOLDMAIL_MAX_RECIPIENT_MESSAGES=100000000",
		"HOLDMAIL_MAX_MESSAGES=100000000",
		"HOLDMAIL_MEMORY_BUDGET=512mb", // eight callers from one address deposit 4 MiB each
		"ARCHON_DIDCOMM_MAX_CHALLENGES=10000000",
	}, env...)
}

// BenchmarkDeposit is deposits, spread over many mailboxes.
func BenchmarkDeposit(b *testing.B) {
	for _, engine := range engines() {
		for _, tt := range []struct {
			name                   string
			size, conns, mailboxes int
		}{
			{"1 KiB", 1 << 10, 16, 1000},
			{"16 KiB", 16 << 10, 16, 1000},
			{"4 MiB", 4 << 20, 8, 16},
		} {
			b.Run(engine+"/"+tt.name, func(b *testing.B) {
				r := startWide(b, engine)
				packed := make([][]byte, tt.mailboxes)
				for i := range packed {
					packed[i] = envelope(tt.size, fmt.Sprint(i), newWallet(b))
				}
				f := syncTime(b)
				rate := r.underLoad(b, "deposits", tt.conns, func(c *caller, i int) error {
					return c.deposit(packed[i%len(packed)])
				})
				b.ReportMetric(rate*float64(tt.size)/(1<<20), "MiB/s")
				if engine == "bolt" {
					f = (f + syncTime(b)) / 2
					reportDisk(b, f, tt.size)
					b.ReportMetric(100*rate*2*f.Seconds()/float64(tt.conns), "%-of-limit")
				}
			})
		}
	}
}

// reportDisk reports what the disk can do: f, and how much of bodies alone.
func reportDisk(b *testing.B, f time.Duration, size int) {
	written, synced := writeTime(b, size, 30)
	b.ReportMetric(float64(f.Microseconds()), "fdatasync-µs")
	b.ReportMetric(float64(size)/(1<<20)/(written+synced).Seconds(), "plain-file-MiB/s")
}

// BenchmarkChallenge is challenges asked for.
func BenchmarkChallenge(b *testing.B) {
	for _, engine := range engines() {
		b.Run(engine, func(b *testing.B) {
			startWide(b, engine).underLoad(b, "challenges", 16, func(c *caller, _ int) error {
				_, err := c.challenge()
				return err
			})
		})
	}
}

// BenchmarkPickup is loops of challenge, fetch, challenge, remove, each by an
// owner for whom one message of 1 KiB waits. It was deposited before the clock
// started; making the two signatures is in the time, and the load's.
func BenchmarkPickup(b *testing.B) {
	for _, engine := range engines() {
		b.Run(engine, func(b *testing.B) {
			r, owners := startWide(b, engine), make([]wallet, b.N)
			for i := range owners {
				owners[i] = newWallet(b)
			}
			share(b, r.callers(b, 16), b.N, func(c *caller, i int) error {
				return c.deposit(envelope(1<<10, "waiting", owners[i]))
			})
			f, v := syncTime(b), verifyTime(b)
			rate := r.underLoad(b, "loops", 16, func(c *caller, i int) error { return c.pickUp(owners[i]) })
			limit := 1 / (2 * v.Seconds())
			if engine == "bolt" {
				f = (f + syncTime(b)) / 2
				limit = min(limit, 16/(2*f.Seconds()))
				b.ReportMetric(float64(f.Microseconds()), "fdatasync-µs")
			}
			b.ReportMetric(float64(v.Microseconds()), "verify-µs")
			b.ReportMetric(100*rate/limit, "%-of-limit")
		})
	}
}

// underLoad times b.N calls of do over so many connections, and returns how
// many were made a second.
func (r *relay) underLoad(b *testing.B, what string, conns int, do func(c *caller, i int) error) (rate float64) {
	b.Helper()
	callers := r.callers(b, conns)
	relays, loads := r.processorTime(b), ownProcessorTime(b)
	b.ResetTimer()
	peak := peakDuring(b, r, func() {
		share(b, callers, b.N, do)
		b.StopTimer()
	})
	relays, loads = r.processorTime(b)-relays, ownProcessorTime(b)-loads

	rate = float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, what+"/s")
	b.ReportMetric(float64(relays.Microseconds())/float64(b.N), "relay-µs")
	b.ReportMetric(float64(loads.Microseconds())/float64(b.N), "load-µs")
	b.ReportMetric(mebibytes(peak), "peak-MiB")
	b.ReportMetric(0, "ns/op") // the rate says it
	return rate
}

// peakDuring runs work and returns the most anonymous memory that the relay had
// meanwhile, in bytes.
func peakDuring(b testing.TB, r *relay, work func()) (peak int64) {
	b.Helper()
	var watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() { peak = r.peakUntil(b, done) })
	defer watch.Wait()
	defer close(done)
	work()
	return peak
}

// share has callers call do n times between them, for each i below n once, and
// fails the benchmark if a call fails.
func share(b testing.TB, callers []*caller, n int, do func(c *caller, i int) error) {
	b.Helper()
	var (
		next atomic.Int64
		g    sync.WaitGroup
	)
	for _, c := range callers {
		g.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(c, i); err != nil {
					b.Errorf("call %d: %v", i, err)
					return
				}
			}
		})
	}
	g.Wait()
	if b.Failed() {
		b.FailNow()
	}
}
