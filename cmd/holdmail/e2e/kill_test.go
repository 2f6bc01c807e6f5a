package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestKill kills one relay over and over amid deposits and removals, sometimes
// while it opens its file, sometimes while it stops, and audits what is left
// each time. Only one thing may be unknown to a client: what happened to the
// request whose answer it did not get.
func TestKill(t *testing.T) {
	t.Parallel()
	const rounds = 52
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &siege{relay: newRelay(t), ledger: newLedger(), rnd: rand.New(rand.NewPCG(seed, 0))}
	for range 6 {
		s.wallets = append(s.wallets, newWallet(t))
	}
	answerless := 0
	for round := range rounds {
		if round%2 == 1 {
			s.killOpening(t)
		}
		s.relay.start(t)
		s.inspect(t)
		s.traffic(t, round, round%4 == 2)
		checkPages(t, s.relay)
		answerless += s.ledger.count(sent) + s.ledger.count(asked)
		if t.Failed() {
			t.Fatalf("in round %d\n%s", round, s.relay.log)
		}
	}
	s.relay.start(t)
	s.inspect(t)
	s.relay.stop(t)
	checkFile(t, s.relay, s.ledger)
	acknowledged := s.ledger.count(kept) + s.ledger.count(gone)
	t.Logf("%d copies acknowledged, %d answers cut off", acknowledged, answerless)
	if acknowledged < 10*rounds || answerless < rounds/2 {
		t.Errorf("so few prove little in %d rounds", rounds)
	}
}

// siege is a relay under attack and what its clients know of it.
type siege struct {
	relay   *relay
	wallets []wallet
	ledger  *ledger
	rnd     *rand.Rand // of the test's own goroutine

	mu    sync.Mutex // guards spent
	spent []string   // challenges that must never be good again
}

// moment is when to kill: any time from now to limit.
func (s *siege) moment(limit time.Duration) <-chan time.Time {
	return time.After(time.Duration(s.rnd.Int64N(int64(limit))))
}

// killOpening starts the relay and kills it at once, wherever it is.
func (s *siege) killOpening(t *testing.T) {
	t.Helper()
	s.relay.spawn(t)
	<-s.moment(30 * time.Millisecond)
	s.relay.kill(t)
}

// inspect audits a relay that was just started, and makes room in mailboxes
// that grow long.
func (s *siege) inspect(t *testing.T) {
	t.Helper()
	for _, challenge := range s.dead() {
		mustRefuse(t, s.relay, s.wallets[0], challenge)
	}
	held := s.ledger.audit(t, s.relay, s.wallets...)
	for _, w := range s.wallets {
		if ms := held[w.DID]; len(ms) > 30 {
			s.acknowledge(t, w, ms[:len(ms)-10], func(err error) { t.Fatal(err) })
		}
	}
}

// dead is the challenges that must not be good after a kill.
func (s *siege) dead() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = s.spent[max(0, len(s.spent)-8):]
	return slices.Clone(s.spent)
}

// spend notes a challenge that must not be good again.
func (s *siege) spend(challenge string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = append(s.spent, challenge)
}

// traffic deposits and removes from several sides until, at some moment, the
// relay is killed: suddenly, or while it is stopping.
func (s *siege) traffic(t *testing.T, round int, stopping bool) {
	t.Helper()
	var (
		clients sync.WaitGroup
		ended   atomic.Bool // the relay may fail its clients from here on
	)
	broken := func(err error) {
		if !ended.Load() {
			t.Errorf("before the kill: %v", err)
		}
	}
	for i := range 4 {
		sender := round*10 + i
		clients.Go(func() { s.send(sender, broken) })
	}
	for i := range 2 {
		clients.Go(func() { s.collect(t, i, round, broken) })
	}
	live := challenge(t, s.relay)
	<-s.moment(400 * time.Millisecond)
	ended.Store(true)
	if stopping {
		s.relay.cmd.Process.Signal(syscall.SIGTERM)
		<-s.moment(20 * time.Millisecond)
	}
	s.relay.kill(t)
	clients.Wait()
	if !stopping {
		s.spend(live) // a crash costs it
	}
}

// send deposits letters, mostly small, one in four for two recipients, until
// the relay fails.
func (s *siege) send(sender int, broken func(error)) {
	rnd := rand.New(rand.NewPCG(uint64(sender), 1))
	for n := 0; ; n++ {
		size := 800 + rnd.IntN(2_000)
		if rnd.IntN(10) == 0 {
			size = 4_000 + rnd.IntN(100_000)
		}
		first := rnd.IntN(len(s.wallets))
		to := []wallet{s.wallets[first]}
		if rnd.IntN(4) == 0 {
			to = append(to, s.wallets[(first+1)%len(s.wallets)])
		}
		body := envelope(size, fmt.Sprintf("letter %d of sender %d", n, sender), to...)
		s.ledger.posting(body, sender, n, to...)
		ids, err := s.relay.deposit(body)
		if err == nil {
			err = s.ledger.posted(body, ids, to...)
		}
		if err != nil {
			broken(err)
			return
		}
	}
}

// collect fetches and removes, for every second wallet, until the relay fails.
func (s *siege) collect(t *testing.T, side, round int, broken func(error)) {
	rnd := rand.New(rand.NewPCG(uint64(round), uint64(side)))
	for failed := false; !failed; {
		w := s.wallets[side+2*rnd.IntN(len(s.wallets)/2)]
		ms, err := s.relay.fetch(w)
		if err != nil {
			broken(err)
			return
		}
		s.ledger.seen(t, w, ms)
		rnd.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		s.acknowledge(t, w, ms[:min(len(ms), 1+rnd.IntN(5))], func(err error) { failed = true; broken(err) })
	}
}

// acknowledge removes ms and remembers the challenge it spent.
func (s *siege) acknowledge(t *testing.T, w wallet, ms []message, broken func(error)) {
	t.Helper()
	if len(ms) == 0 {
		return
	}
	challenge, err := s.relay.challenge()
	if err != nil {
		broken(err)
		return
	}
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	s.ledger.removing(w, ms, false)
	removed, err := s.relay.removeWith(w, challenge, ids...)
	if err != nil {
		broken(err)
		return
	}
	s.spend(challenge)
	if removed != len(ms) {
		t.Errorf("removed %d of %d messages that were just fetched", removed, len(ms))
	}
	s.ledger.removing(w, ms, true)
}
