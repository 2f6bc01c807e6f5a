// Package flight bounds the memory that requests hold while they are under way:
// all of them together, and each holder's.
//
// It holds no bytes itself, only counts of them, and knows neither requests nor
// what the bytes are. Whoever holds some asks before, and says when they are gone.
package flight

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

// Grace is how old a load must be before its speed tells anything. Younger ones
// count as fast.
const Grace = 5 * time.Second

// small is what a load may hold, in bytes, to be let into what large ones leave:
// a challenge that is answered with a few hundred bytes must not wait for uploads.
const small = 64 << 10

var (
	// ErrBusy says that the bytes do not fit now, and that no slower load can go.
	ErrBusy = errors.New("no memory for this now")
	// ErrEnded says that the load had to go, for one that is faster.
	ErrEnded = errors.New("too slow while memory is short")
)

// Budget is the memory that loads share. It is safe for concurrent use.
type Budget struct {
	total, share int64 // bytes

	mu    sync.Mutex // guards the rest, and the loads' own
	held  int64
	freed chan struct{}    // closed when bytes are given back; nil while nobody waits for that
	by    map[string]int64 // holder -> bytes; none at zero
	loads map[*Load]struct{}
}

// NewBudget lets loads hold total bytes together, and those of one holder share. A
// load of more than 64 KiB leaves a part of both to the smaller ones: an eighth of
// the total, and a thirty-second of the share.
func NewBudget(total, share int64) *Budget {
	return &Budget{total: total, share: share, by: map[string]int64{}, loads: map[*Load]struct{}{}}
}

// ShareFor is the least share under which one load can hold n bytes.
func ShareFor(n int64) int64 { return n + n/31 + 1 }

// TotalFor is the least total under which one holder can use its share.
func TotalFor(share int64) int64 { return share + share/7 + 1 }

// Load is what one request holds. A nil Load holds whatever it likes, uncounted.
type Load struct {
	budget *Budget
	holder string
	begun  time.Time
	end    func()

	held    int64
	arrived int64 // bytes, from the caller
	settled bool
	ended   bool
}

// Begin begins a load that holds nothing yet. The caller must Release it. end is
// called, at most once and before Release returns, when the load must go for
// another: what it held counts no more, and the caller drops it at once. It must
// not call the budget.
func (b *Budget) Begin(holder string, end func()) *Load {
	l := &Load{budget: b, holder: holder, begun: time.Now(), end: end}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loads[l] = struct{}{}
	return l
}

// Hold counts n more bytes, which the caller takes after it returned nil. If they
// do not fit, slower loads are ended to make room, the slowest first; where that
// does not help none is, and it returns ErrBusy. Of a load that was itself ended
// it is ErrEnded.
func (l *Load) Hold(n int64) error {
	if l == nil {
		return nil
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ended {
		return ErrEnded
	}
	if !b.makeRoom(l, n) {
		return ErrBusy
	}
	b.count(l, n)
	return nil
}

// Drop says that n bytes are held no more.
func (l *Load) Drop(n int64) {
	if l == nil {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.budget.count(l, -min(n, l.held)) // an ended load holds nothing
}

// DropAll says that nothing is held any more.
func (l *Load) DropAll() { l.Drop(math.MaxInt64) }

// Arrived notes that the caller sent n bytes.
func (l *Load) Arrived(n int) {
	if l == nil {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.arrived += int64(n)
}

// Settle says that everything has arrived: from now on the load waits for nobody,
// and is not ended.
func (l *Load) Settle() {
	if l == nil {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.settled = true
}

// Release ends a load that is done. It holds nothing any more.
func (l *Load) Release() {
	if l == nil {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.budget.count(l, -l.held)
	delete(l.budget.loads, l)
}

// count adds n to what l holds.
func (b *Budget) count(l *Load, n int64) {
	l.held, b.held, b.by[l.holder] = l.held+n, b.held+n, b.by[l.holder]+n
	if b.by[l.holder] == 0 {
		delete(b.by, l.holder)
	}
	if n < 0 && b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// makeRoom sees to it that l can hold n more bytes, and reports whether it can.
func (b *Budget) makeRoom(l *Load, n int64) bool {
	over, overAll := b.by[l.holder]+n-b.share, b.held+n-b.total
	if l.held+n > small {
		over, overAll = over+b.share/32, overAll+b.total/8
	}
	if over <= 0 && overAll <= 0 {
		return true
	}
	var going, others []*Load
	for _, s := range b.slower(l) {
		if over > 0 && s.holder == l.holder {
			over, overAll = over-s.held, overAll-s.held
			going = append(going, s)
		} else {
			others = append(others, s)
		}
	}
	for _, s := range others {
		if overAll > 0 {
			overAll -= s.held
			going = append(going, s)
		}
	}
	if over > 0 || overAll > 0 {
		return false
	}
	for _, s := range going {
		b.count(s, -s.held)
		s.ended = true
		s.end()
	}
	return true
}

// slower lists the loads that may be ended for l, the slowest first.
func (b *Budget) slower(l *Load) (slower []*Load) {
	now := time.Now()
	mine := math.Inf(1)
	if !l.settled && now.Sub(l.begun) >= Grace {
		mine = l.speed(now)
	}
	for s := range b.loads {
		if s != l && s.held > 0 && !s.settled && now.Sub(s.begun) >= Grace && s.speed(now) < mine {
			slower = append(slower, s)
		}
	}
	slices.SortFunc(slower, func(s, t *Load) int { return cmp.Compare(s.speed(now), t.speed(now)) })
	return slower
}

// speed is in bytes per second, since the load began.
func (l *Load) speed(now time.Time) float64 {
	return float64(l.arrived) / now.Sub(l.begun).Seconds()
}
