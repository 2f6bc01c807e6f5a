package hookbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdmail/holdmail/storage"
)

// Options say what a Service works with.
type Options struct {
	Store   Store
	Sealer  Sealer
	MaxLive int // senders that wait for an answer at one time; more wait for none
}

// Service is the hookbox. Anyone may deliver to an address that is registered;
// whoever calls the rest has proved to be the home computer before coming here. It
// is safe for concurrent use.
type Service struct {
	store   Store
	sealer  Sealer
	maxLive int
	ended   chan struct{} // closed by End

	registering sync.Mutex // is held while addresses are replaced

	mu      sync.Mutex // guards the rest; never held while sealing, reading or writing
	hooks   map[storage.Hook]time.Duration
	leases  map[string]lease   // by delivery
	senders map[string]*Sender // by delivery
	takers  []*taker           // who wait for deliveries, in the order they came
	over    bool
}

// Open returns a Service for the addresses that the store remembers.
func Open(ctx context.Context, o Options) (*Service, error) {
	hooks, err := o.Store.Registered(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of webhooks: %w", err)
	}
	s := &Service{
		store:   o.Store,
		sealer:  o.Sealer,
		maxLive: o.MaxLive,
		ended:   make(chan struct{}),
		hooks:   make(map[storage.Hook]time.Duration, len(hooks)),
		leases:  map[string]lease{},
		senders: map[string]*Sender{},
	}
	for _, hook := range hooks {
		s.hooks[hook] = LongestWait
	}
	return s, nil
}

// Address is one that is to be registered.
type Address struct {
	Hook storage.Hook
	Wait time.Duration // of its senders for an answer, LongestWait at most; 0 stands for that
}

// Register replaces the registered addresses, durably once it returns nil. How long
// their senders wait is remembered until a restart only: then nobody waits before
// the home computer is back, which registers first. It registers when it begins to
// drain, perhaps after a crash: what it was handed before and did not acknowledge is
// handed out again, oldest first, without a wait for the leases.
func (s *Service) Register(ctx context.Context, addresses []Address) error {
	s.registering.Lock()
	defer s.registering.Unlock()
	hooks := make([]storage.Hook, 0, len(addresses))
	waits := make(map[storage.Hook]time.Duration, len(addresses))
	for _, a := range addresses {
		if _, twice := waits[a.Hook]; !twice {
			hooks = append(hooks, a.Hook)
		}
		if a.Wait <= 0 || a.Wait > LongestWait {
			a.Wait = LongestWait
		}
		waits[a.Hook] = a.Wait
	}
	if err := s.store.Register(ctx, hooks); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = waits
	s.endLeases()
	return nil
}

// Registered reports whether an address is registered.
func (s *Service) Registered(hook storage.Hook) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.hooks[hook]
	return ok
}

// Status is what is kept.
type Status struct {
	storage.HookTotals
	Oldest time.Time // zero when nothing is kept
}

// Status tells what is kept: nothing, when all of it has expired and only the next
// delivery will shed it.
func (s *Service) Status(ctx context.Context) (status Status, err error) {
	for kept, err := range s.store.List(ctx, "") {
		if err != nil {
			return Status{}, err
		}
		status.Oldest = kept.Received
		status.HookTotals, err = s.store.Totals(ctx)
		return status, err
	}
	return Status{}, nil
}

// End lets all go who wait, and nobody wait from now on: senders without an answer,
// the home computer without deliveries.
func (s *Service) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
}
