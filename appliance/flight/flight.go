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
	total int64 // bytes

	mu    sync.Mutex // guards the rest, and the loads' own
	held  int64
	freed chan struct{}    // closed when bytes are given back; nil while nobody waits for that
	by    map[string]int64 // holder -> bytes; none at zero
	loads map[*Load]struct{}
}

// Holder is one to whom loads count, and the bytes that these may hold together.
type Holder struct {
	Name string // not empty
	Most int64
}

// NewBudget lets loads hold total bytes together. A load of more than 64 KiB
// leaves a part to the smaller ones: an eighth of the total, and a thirty-second
// of what each of its holders has.
func NewBudget(total int64) *Budget {
	return &Budget{total: total, by: map[string]int64{}, loads: map[*Load]struct{}{}}
}

// ShareFor is the least that a holder must have for one load to hold n bytes.
func ShareFor(n int64) int64 { return n + n/31 + 1 }

// TotalFor is the least total under which a holder can use all that it has.
func TotalFor(most int64) int64 { return most + most/7 + 1 }

// Load is what one request holds. A nil Load holds whatever it likes, uncounted.
type Load struct {
	budget  *Budget
	holders []Holder
	begun   time.Time
	end     func()

	held    int64
	arrived int64 // bytes, from the caller
	settled bool
	ended   bool
}

// Begin begins a load that holds nothing yet, and counts to each of the holders.
// The caller must Release it. end is called, at most once and before Release
// returns, when the load must go for another: what it held counts no more, and
// the caller drops it at once. It must not call the budget.
func (b *Budget) Begin(end func(), holders ...Holder) *Load {
	l := &Load{budget: b, holders: holders, begun: time.Now(), end: end}
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

// Move counts what l holds, and will hold, to other holders in the place of its own.
// It returns ErrBusy if one of them has no room, and ErrEnded as Hold does; then
// nothing is moved.
func (l *Load) Move(holders ...Holder) error {
	if l == nil {
		return nil
	}
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.ended {
		return ErrEnded
	}
	own, held := l.holders, l.held
	b.count(l, -held)
	l.holders = holders
	if slices.ContainsFunc(b.over(l, held), func(e excess) bool { return e.of != "" && e.bytes > 0 }) {
		l.holders = own
		b.count(l, held)
		return ErrBusy
	}
	b.count(l, held)
	return nil
}

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
	l.held, b.held = l.held+n, b.held+n
	for _, h := range l.holders {
		if b.by[h.Name] += n; b.by[h.Name] == 0 {
			delete(b.by, h.Name)
		}
	}
	if n < 0 && b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// makeRoom sees to it that l can hold n more bytes, and reports whether it can.
// A holder without room makes it among its own loads, before all do.
func (b *Budget) makeRoom(l *Load, n int64) bool {
	over := b.over(l, n)
	if !slices.ContainsFunc(over, func(e excess) bool { return e.bytes > 0 }) {
		return true
	}
	var going []*Load
	slower := b.slower(l)
	for i := range over {
		for _, s := range slower {
			if over[i].bytes > 0 && s.counts(over[i].of) && !slices.Contains(going, s) {
				going = append(going, s)
				relieve(over, s)
			}
		}
		if over[i].bytes > 0 {
			return false
		}
	}
	for _, s := range going {
		b.count(s, -s.held)
		s.ended = true
		s.end()
	}
	return true
}

// excess is by how many bytes a holder, or all together where of is "", would
// have too much.
type excess struct {
	of    string
	bytes int64
}

// over is the excess of l's holders, and then of all, if l held n more bytes.
func (b *Budget) over(l *Load, n int64) (over []excess) {
	open := func(most, part int64) int64 {
		if l.held+n > small {
			return most - most/part
		}
		return most
	}
	for _, h := range l.holders {
		over = append(over, excess{h.Name, b.by[h.Name] + n - open(h.Most, 32)})
	}
	return append(over, excess{"", b.held + n - open(b.total, 8)})
}

// relieve takes what s holds from the excess of those to whom it counts.
func relieve(over []excess, s *Load) {
	for i := range over {
		if s.counts(over[i].of) {
			over[i].bytes -= s.held
		}
	}
}

// counts reports whether what l holds counts to a holder, or to "", which is all.
func (l *Load) counts(to string) bool {
	return to == "" || slices.ContainsFunc(l.holders, func(h Holder) bool { return h.Name == to })
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
