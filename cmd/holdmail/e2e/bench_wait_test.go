package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// waitersRelay is a relay with places for so many waiters.
func waitersRelay(b testing.TB, engine string, n int) *relay {
	b.Helper()
	r := newRelay(b, wide("ARCHON_DIDCOMM_DB="+engine,
		fmt.Sprint("HOLDMAIL_MAX_WAITERS=", n), fmt.Sprint("HOLDMAIL_MAX_CONNECTIONS=", 2*n+100))...)
	r.Run = []string{binary}
	r.start(b)
	return r
}

// mustWait sends a fetch that waits, on a connection of its own.
func (c *caller) mustWait(b testing.TB, w wallet) {
	b.Helper()
	challenge, err := c.challenge()
	if err != nil {
		b.Fatal(err)
	}
	body := w.claim(challenge, more{"wait": 60})
	if _, err := fmt.Fprintf(c.conn, "POST /api/v1/messages/fetch HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", c.host, len(body), body); err != nil {
		b.Fatal(err)
	}
}

// answered reads the answer to a fetch that waited, if it is there.
func (c *caller) answered(b testing.TB) bool {
	b.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		b.Fatal(err)
	}
	_, none := c.in.Peek(1)
	if err := c.conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		b.Fatal(err)
	}
	if none != nil {
		return false
	}
	if _, err := c.receive(); err != nil {
		b.Fatal(err)
	}
	return true
}

// fillWithWaiters takes all of a relay's n places. idle is the anonymous memory it
// had before, in bytes.
func (r *relay) fillWithWaiters(b testing.TB, n int) (wallets []wallet, callers []*caller, idle int64) {
	b.Helper()
	r.mayWait(b, "") // so that what the first call of all takes is there
	idle = r.anonymous(b)
	wallets, callers = make([]wallet, n), r.callers(b, n)
	for i, c := range callers {
		wallets[i] = newWallet(b)
		c.mustWait(b, wallets[i])
	}
	eventually(b, 30*time.Second, func() (bool, string) {
		if !r.mayWait(b, "") {
			return true, ""
		}
		for i, c := range callers { // the last of them may have come behind who asked
			if c.answered(b) {
				c.mustWait(b, wallets[i])
			}
		}
		return false, "there is a place left"
	})
	return wallets, callers, idle
}

// BenchmarkWaiters is what 1,000 fetches that wait cost in anonymous memory, over
// what the relay had after a first one: with their connections, of plain HTTP. busy
// is after 3,000 other calls. Then all are answered.
func BenchmarkWaiters(b *testing.B) {
	const waiters = 1000
	for b.Loop() {
		r := waitersRelay(b, "bolt", waiters)
		wallets, callers, idle := r.fillWithWaiters(b, waiters)
		b.ReportMetric(mebibytes(r.anonymous(b)-idle), "1000-waiters-MiB")
		for range 3000 {
			challenge(b, r)
		}
		b.ReportMetric(mebibytes(r.anonymous(b)-idle), "busy-MiB")
		for i, c := range callers {
			mustFile(b, r, envelope(1<<10, "letter", wallets[i]))
			if _, err := c.receive(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op") // it holds the start, too
		r.stop(b)
	}
}

// BenchmarkWake is the time from a deposit's answer, which comes after the commit, to
// its waiter's answer, both read to their end; 200 others wait meanwhile. whole is
// from the sending of the deposit.
func BenchmarkWake(b *testing.B) {
	const others = 200
	for _, engine := range engines() {
		b.Run(engine, func(b *testing.B) {
			r := waitersRelay(b, engine, others+1)
			for _, c := range r.callers(b, others) {
				c.mustWait(b, newWallet(b))
			}
			both := r.callers(b, 2)
			sender, owner := both[0], both[1]
			var woken, whole []time.Duration
			for i := 0; b.Loop(); i++ {
				w := newWallet(b)
				owner.mustWait(b, w)
				packed := envelope(1<<10, fmt.Sprint(i), w)
				for range 10 { // by then it waits; if not, it is answered the sooner
					if _, err := sender.challenge(); err != nil {
						b.Fatal(err)
					}
				}
				answered := make(chan time.Time, 1)
				start := time.Now()
				go func() {
					_, err := owner.receive()
					answered <- time.Now()
					if err != nil {
						b.Error(err)
					}
				}()
				if err := sender.deposit(packed); err != nil {
					b.Fatal(err)
				}
				committed, first := time.Now(), <-answered
				woken, whole = append(woken, first.Sub(committed)), append(whole, first.Sub(start))
			}
			reportPercentiles(b, "wake", woken)
			reportPercentiles(b, "whole", whole)
			b.ReportMetric(0, "ns/op")
		})
	}
}

func reportPercentiles(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Microseconds()), fmt.Sprintf("%s-p%d-µs", what, p))
	}
}
