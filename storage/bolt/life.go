package bolt

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// life counts the time that has really passed since the store was made, and
// mail ages by it alone. No step of the wall clock touches it: within one boot it
// follows the time since boot, over processes too. What passed between two boots
// is counted when a synchronised clock can tell, which may be minutes after the
// start; where none ever can, mail lives a little longer, never shorter
// (spec/storage.md, "The clock of a board without one").
type life struct {
	clock storage.Clock

	mu      sync.Mutex // guards all below
	lived   time.Duration
	at      time.Duration // the clock's Elapsed when lived was counted
	anchor  anchor        // newest moment at which the wall clock could be believed
	pending bool          // the time since the anchor, before this boot, is not yet counted
}

// anchor ties believable wall-clock time to a moment of the store's life.
type anchor struct {
	wall  time.Time // zero: there never was one
	lived time.Duration
}

// reviveLife goes on from what keep wrote last; from nothing, a new life starts.
// known is false while time may have passed that is not counted yet.
func reviveLife(clock storage.Clock, kept []byte) (l *life, known bool, err error) {
	l = &life{clock: clock, at: clock.Elapsed()}
	if len(kept) == 0 {
		return l, true, nil
	}
	if len(kept) < 32 {
		return nil, false, fmt.Errorf("a clock record of %d bytes: %w", len(kept), errDamaged)
	}
	l.lived = millis(kept)
	elapsed, boot := millis(kept[8:]), string(kept[32:])
	if wall := int64(binary.BigEndian.Uint64(kept[16:])); wall != 0 {
		l.anchor = anchor{time.UnixMilli(wall), millis(kept[24:])}
	}
	if boot != "" && boot == clock.Boot() && l.at >= elapsed {
		l.lived += l.at - elapsed
		return l, true, nil
	}
	anchored := !l.anchor.wall.IsZero()
	l.pending = anchored
	l.count()
	return l, anchored && !l.pending, nil
}

func millis(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint64(b)) * time.Millisecond
}

// count brings lived up to now. The caller holds mu, or is alone.
func (l *life) count() (synced bool) {
	now := l.clock.Elapsed()
	l.lived, l.at = l.lived+now-l.at, now
	if synced = l.clock.Synced(); !synced {
		return false
	}
	wall := l.clock.Now()
	if l.pending {
		l.pending = false
		l.lived = max(l.lived, l.anchor.lived+wall.Sub(l.anchor.wall))
	}
	l.anchor = anchor{wall, l.lived}
	return true
}

// now is the store's age, and the best wall-clock time for a stamp: while the
// clock cannot be believed, no earlier than what the last believable one implies.
func (l *life) now() (lived time.Duration, stamp time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stamp = l.clock.Now()
	if !l.count() && !l.anchor.wall.IsZero() {
		if floor := l.anchor.wall.Add(l.lived - l.anchor.lived); stamp.Before(floor) {
			stamp = floor
		}
	}
	return l.lived, stamp
}

// age is how long the store has lived. Unlike now it does not ask whether the
// wall clock can be believed, unless time is waiting to be counted by it.
func (l *life) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending {
		l.count()
	}
	return l.lived + l.clock.Elapsed() - l.at
}

// keep is what reviveLife needs after a restart, as of the last call of now.
func (l *life) keep() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wall int64
	if !l.anchor.wall.IsZero() {
		wall = l.anchor.wall.UnixMilli()
	}
	b := make([]byte, 0, 32+36)
	for _, v := range []int64{l.lived.Milliseconds(), l.at.Milliseconds(), wall, l.anchor.lived.Milliseconds()} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return append(b, l.clock.Boot()...)
}
