package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/bolt"
	"github.com/holdmail/holdmail/storage/clock"
)

// BenchmarkMemory is a relay's anonymous memory with nothing kept, and after its
// 256 MiB were filled with letters of 64 KiB and drained by their owners: the
// least and the last that was seen in the 20 s after.
func BenchmarkMemory(b *testing.B) {
	const owners, letters, size = 64, 64, 64 << 10
	wallets := make([]wallet, owners)
	for i := range wallets {
		wallets[i] = newWallet(b)
	}
	for b.Loop() {
		r := startRelay(b)
		b.ReportMetric(mebibytes(r.anonymous(b)), "idle-MiB")
		peak := peakDuring(b, r, func() {
			callers := r.callers(b, 16)
			share(b, callers, owners*letters, func(c *caller, i int) error {
				return c.deposit(envelope(size, fmt.Sprint(i), wallets[i%owners]))
			})
			share(b, callers, owners, func(c *caller, i int) error {
				n, err := c.drain(wallets[i])
				if err == nil && n != letters {
					err = fmt.Errorf("drained %d letters, want %d", n, letters)
				}
				return err
			})
		})
		least, last := r.settle(b, 20*time.Second)
		b.ReportMetric(mebibytes(peak), "peak-MiB")
		b.ReportMetric(mebibytes(least), "drained-least-MiB")
		b.ReportMetric(mebibytes(last), "drained-last-MiB")
		b.ReportMetric(0, "ns/op") // mostly waiting
		r.stop(b)
	}
}

// settle watches the relay's anonymous memory, untouched, for so long.
func (r *relay) settle(b testing.TB, limit time.Duration) (least, last int64) {
	b.Helper()
	least = r.anonymous(b)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); <-tick.C {
		last = r.anonymous(b)
		least = min(least, last)
	}
	return least, last
}

// BenchmarkStart is the time from starting the program to its first 200 on
// /health, the file being in the page cache.
func BenchmarkStart(b *testing.B) {
	b.Run("no store yet", func(b *testing.B) {
		starts(b, func() *relay { return newRelay(b) }, (*relay).kill)
	})
	b.Run("empty store", func(b *testing.B) {
		r := startRelay(b)
		r.stop(b)
		starts(b, func() *relay { return r }, (*relay).stop)
	})
	full := newRelay(b, wide()...)
	full.fillOffline(b, 262_144, 1<<10, 1000)
	b.Run("256 MiB of 1 KiB, stopped in order", func(b *testing.B) {
		full.start(b)
		full.stop(b)
		starts(b, func() *relay { return full }, (*relay).stop)
	})
	b.Run("256 MiB of 1 KiB, killed", func(b *testing.B) {
		full.start(b)
		full.mustDie(b)
		starts(b, func() *relay { return full }, (*relay).mustDie)
	})
}

// mustDie kills a relay that has kept something since its start, so that its
// next start finds the file as a crash leaves it.
func (r *relay) mustDie(b testing.TB) {
	b.Helper()
	mustFile(b, r, envelope(1<<10, "the last one", newWallet(b)))
	r.kill(b)
}

// starts reports the median time of starting what next returns. end ends it.
func starts(b *testing.B, next func() *relay, end func(*relay, testing.TB)) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		r := next()
		took = append(took, r.timeStart(b))
		end(r, b)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "longest-ms")
	b.ReportMetric(float64(len(took)), "starts")
	b.ReportMetric(0, "ns/op") // it holds the ends, too
}

// timeStart runs the binary and returns what it took until a deposit could be
// kept, to the millisecond.
func (r *relay) timeStart(b testing.TB) time.Duration {
	b.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	r.spawn(b)
	for r.health() != nil {
		if time.Since(start) > 10*time.Second {
			b.Fatalf("not ready after ten seconds\n%s", r.log)
		}
		<-tick.C
	}
	return time.Since(start)
}

// health returns nil if /health is a 200.
func (r *relay) health() error {
	c, err := r.dial()
	if err != nil {
		return err
	}
	defer c.conn.Close()
	_, err = c.call("GET", "/health", "", nil)
	return err
}

// fillOffline makes the file of a relay that is not running, with n messages of
// size bytes over so many mailboxes, by 256 senders.
func (r *relay) fillOffline(b testing.TB, n, size, mailboxes int) {
	b.Helper()
	store, err := bolt.Open(filepath.Join(r.Dir, "holdmail.db"), bolt.Options{Options: storage.Options{
		Caps: storage.Caps{
			RecipientBytes: int64(n * size), TotalBytes: int64(n * size),
			RecipientMessages: int64(n), TotalMessages: int64(n), Challenges: 1,
		},
		MessageTTL:   7 * 24 * time.Hour,
		ChallengeTTL: 5 * time.Minute,
		Clock:        clock.System{},
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	body := bytes.Repeat([]byte("A"), size)
	share(b, make([]*caller, 256), n, func(_ *caller, i int) error {
		to := []string{fmt.Sprint("mailbox ", i%mailboxes)}
		_, err := store.Mailbox().Add(b.Context(), storage.Envelope{Recipients: to, Body: body})
		return err
	})
}

// BenchmarkPoll is what a wallet that polls an empty mailbox 1,000 times has
// written to the disk: nothing.
func BenchmarkPoll(b *testing.B) {
	r, w := startRelay(b), newWallet(b)
	c := r.callers(b, 1)[0]
	before := r.writtenBytes(b)
	for b.Loop() {
		for range 1000 {
			if _, err := c.fetch(w); err != nil {
				b.Fatal(err)
			}
		}
	}
	written := r.writtenBytes(b) - before
	b.ReportMetric(float64(written)/float64(b.N), "write_bytes/1000-polls")
	if written != 0 {
		b.Errorf("polling an empty mailbox wrote %d bytes", written)
	}
}
