// Package clock is the machine's clock as storage engines want it: wall time,
// time since boot, and whether the wall clock can be believed.
//
// It never waits for the network and keeps nothing on the disk.
package clock

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// System is the machine's clock. Its zero value is ready for use.
type System struct{}

// Now is the wall clock.
func (System) Now() time.Time { return time.Now() }

// Elapsed is the time since boot, time asleep included (CLOCK_BOOTTIME).
func (System) Elapsed() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("clock: no CLOCK_BOOTTIME: " + err.Error()) // in every Linux since 2.6.39
	}
	return time.Duration(ts.Nano())
}

// Boot is the kernel's id of this boot, or "" where the kernel does not tell;
// an engine then counts no time between two processes.
func (System) Boot() string { return bootID() }

var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// Synced asks the kernel whether something (NTP, PTP) disciplines the clock.
func (System) Synced() bool {
	var tx unix.Timex
	state, err := unix.Adjtimex(&tx)
	return err == nil && state != unix.TIME_ERROR && tx.Status&unix.STA_UNSYNC == 0
}

// Fake is a clock that moves only when told. It is for tests.
type Fake struct {
	mu      sync.Mutex // guards all below
	now     time.Time
	elapsed time.Duration
	boot    string
	synced  bool
}

// NewFake returns a clock that shows now, in a boot called "boot-1", synchronised.
func NewFake(now time.Time) *Fake {
	return &Fake{now: now, elapsed: time.Minute, boot: "boot-1", synced: true}
}

// Now is what the fake wall clock shows.
func (f *Fake) Now() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now }

// Elapsed is the fake time since boot.
func (f *Fake) Elapsed() time.Duration { f.mu.Lock(); defer f.mu.Unlock(); return f.elapsed }

// Boot is the fake boot's name.
func (f *Fake) Boot() string { f.mu.Lock(); defer f.mu.Unlock(); return f.boot }

// Synced is what SetSynced said last.
func (f *Fake) Synced() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.synced }

// Advance lets d really pass: both the wall clock and the elapsed time move.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.elapsed = f.now.Add(d), f.elapsed+d
}

// Step moves the wall clock alone, as NTP or a person does.
func (f *Fake) Step(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// SetSynced says whether the wall clock is to be believed.
func (f *Fake) SetSynced(synced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = synced
}

// Reboot starts a boot of another name, off for downtime; the wall clock keeps up.
func (f *Fake) Reboot(boot string, downtime time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boot, f.elapsed, f.now = boot, 10*time.Second, f.now.Add(downtime)
}
