package appliance

import (
	"net/netip"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/ratelimit"
)

// newcomers bounds how many Tor circuits make their first call in a window. A
// circuit costs a stranger next to nothing, and brings budgets of its own: only
// their number tells a flood from many callers. Those that have called before go
// on. Nil bounds nothing.
type newcomers struct {
	first *ratelimit.Limiter

	mu    sync.Mutex // guards known
	known *simplelru.LRU[netip.Prefix, struct{}]
}

// firstCall is the class of a circuit's first call.
const firstCall ratelimit.Class = "first call"

// newNewcomers remembers as many circuits as c does of any sources.
func newNewcomers(c Config) *newcomers {
	most := c.Onion.CircuitsPerWindow
	budget := ratelimit.Budget{PerSource: most, Global: most, Window: c.RateWindow}
	known, err := simplelru.NewLRU[netip.Prefix, struct{}](c.MaxSources, nil)
	if err != nil {
		panic(err) // the settings let nobody remember less than one
	}
	return &newcomers{
		first: ratelimit.New(ratelimit.Options{Budgets: map[ratelimit.Class]ratelimit.Budget{firstCall: budget}, MaxSources: 1}),
		known: known,
	}
}

// admit lets a circuit call that has called before, or is one of those who may for
// the first time. The error is a *ratelimit.Refusal. All who come by no circuit
// may call.
func (n *newcomers) admit(from source.Source) error {
	if n == nil || !from.Onion || !from.Known() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.known.Get(from.Key); known {
		return nil
	}
	if _, err := n.first.Take(firstCall, ratelimit.Source{}, 1); err != nil {
		return err
	}
	n.known.Add(from.Key, struct{}{})
	return nil
}
