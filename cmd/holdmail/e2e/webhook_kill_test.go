package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// killedMessages is how many TestWebhookKill sends, the last killedTrickle of them
// slowly; one in killedHold is held.
func killedMessages() int {
	if raced {
		return 1500 // everything takes longer
	}
	return 5000
}

const (
	killedTrickle = 250
	killedHold    = 500
)

// TestWebhookKill sends through a relay that is killed, to a home computer whose
// pull is killed, for a receiver that is killed, over and over: a flood first, which
// is kept, then senders who get the receiver's answer. Whatever got a 2xx is handled;
// it is handled twice only where something was killed between the work and the entry
// that it is done, and then under the same id.
func TestWebhookKill(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	h := newHome(t, "HOLDMAIL_HOOK_MAX_DELIVERIES=6000", "HOLDMAIL_HOOK_ADDRESS_DELIVERIES=6000", "HOLDMAIL_HOOK_ADDRESS_BYTES=33554432")
	h.relay.start(t)
	hooks := map[string]string{}
	for _, scheme := range schemes() {
		hooks[scheme] = h.addHook(t, scheme)
	}
	h.start(t, hooks["line"])

	k := &killer{home: h, rnd: rand.New(rand.NewPCG(seed, 0)), held: map[string]bool{}}
	to := task{To: h.relay.URL, Public: h.Public, Hooks: hooks, Hold: killedHold}
	flood, trickle := to, to
	flood.End, flood.Senders = killedMessages()-killedTrickle, 24
	trickle.First, trickle.End, trickle.Senders, trickle.Rest = flood.End, killedMessages(), 2, 60
	sent := append(k.besiege(t, flood), k.besiege(t, trickle)...)
	audit(t, sent, h.receiver.handled(t), k)
	h.stop(t)
	h.relay.stop(t)
	checkRecount(t, h.relay)
}

// besiege kills while what is asked for is sent, and returns what became of it when
// all is delivered.
func (k *killer) besiege(t *testing.T, what task) []posted {
	t.Helper()
	sending := startSending(t, what)
	for !sending.ended() {
		k.strike(t)
	}
	sent := sending.report(t, time.Minute)
	k.drain(t)
	return sent
}

// schemes are the ways to sign that the senders take turns with.
func schemes() []string { return []string{"standard", "github", "stripe", "twilio", "slack", "line"} }

// killer kills what stands between a sender and the receiver's work.
type killer struct {
	home                  *home
	rnd                   *rand.Rand
	held                  map[string]bool // deliveries whose first answer was held back, by id
	relays, pulls, others int             // kills, of the relay, of pull, of the receiver
}

// strike kills one of the three: the relay or pull at any moment; or, if a delivery
// is held, pull or the receiver while its work is done and its entry is not.
func (k *killer) strike(t *testing.T) {
	t.Helper()
	for wait := time.After(time.Duration(k.rnd.Int64N(int64(1500 * time.Millisecond)))); ; {
		if k.release(t) {
			return
		}
		select {
		case <-wait:
			switch k.rnd.IntN(3) {
			case 0:
				k.killRelay(t)
			case 1:
				k.killPull(t)
			case 2:
				k.killReceiver(t)
			}
			return
		case <-time.After(20 * time.Millisecond): // the receiver's journal is a file to look at
		}
	}
}

// release looks for a delivery that is held and, if there is one, kills whoever
// waits with it.
func (k *killer) release(t *testing.T) bool {
	t.Helper()
	for _, got := range k.home.receiver.handled(t) {
		if !got.Held || k.held[got.ID] {
			continue
		}
		k.held[got.ID] = true
		if len(k.held)%2 == 0 {
			k.killReceiver(t)
		} else {
			k.killPull(t)
		}
		return true
	}
	return false
}

func (k *killer) killRelay(t *testing.T) {
	t.Helper()
	k.home.relay.kill(t)
	k.home.relay.start(t)
	k.relays++
}

func (k *killer) killPull(t *testing.T) {
	t.Helper()
	k.home.kill(t)
	k.home.spawn(t)
	k.pulls++
}

func (k *killer) killReceiver(t *testing.T) {
	t.Helper()
	k.home.receiver.kill(t)
	k.home.receiver.start(t)
	k.others++
}

// drain waits, once all is sent, until nothing is left to deliver: thousands, one by
// one, and what a killed receiver had comes again after a lease.
func (k *killer) drain(t *testing.T) {
	t.Helper()
	eventually(t, 3*time.Minute, func() (bool, string) {
		k.release(t)
		depth := k.home.depth(t)
		return depth == 0, fmt.Sprintf("%d deliveries wait\n%s", depth, k.home.log)
	})
}

// audit compares what was sent with what was handled.
func audit(t *testing.T, sent []posted, got []handled, k *killer) {
	t.Helper()
	seen := map[string]int{}            // by delivery id
	ids := map[string]map[string]bool{} // by message number
	for _, g := range got {
		seen[g.ID]++
		if ids[g.Number] == nil {
			ids[g.Number] = map[string]bool{}
		}
		ids[g.Number][g.ID] = true
		if !g.Trusted {
			t.Errorf("message %s: the signature by %s does not hold", g.Number, g.Scheme)
		}
		if g.Repeat != "" {
			t.Errorf("message %s is signed and is called a repeat", g.Number)
		}
	}
	live, lost, cut := 0, 0, 0
	for _, p := range sent {
		if p.live() {
			live++
		}
		if p.Cut > 0 {
			cut++
		}
		switch of := ids[strconv.Itoa(p.Number)]; {
		case len(of) == 0:
			lost++
			t.Errorf("message %d by %s was answered %d and never handled", p.Number, p.Scheme, p.Status)
		case len(of) > 1:
			t.Errorf("message %d by %s, sent again %d times, was handled as %d deliveries", p.Number, p.Scheme, p.Cut, len(of))
		}
	}
	duplicates := len(got) - len(seen)
	t.Logf("sent %d (%d more than once), answered live %d, queued %d, delivered %d, duplicates %d, lost %d; killed the relay %d times, pull %d, the receiver %d",
		len(sent), cut, live, len(sent)-live, len(seen), duplicates, lost, k.relays, k.pulls, k.others)
	if len(sent) != killedMessages() || len(seen) != killedMessages() {
		t.Errorf("%d sent, %d delivered, want %d", len(sent), len(seen), killedMessages())
	}
	if len(k.held) != killedMessages()/killedHold || duplicates < len(k.held) || duplicates > k.pulls+k.others {
		t.Errorf("%d were held; %d handled again, want one for each of these, and no more than kills of pull and the receiver", len(k.held), duplicates)
	}
	if live == 0 || live == len(sent) || k.relays == 0 || k.pulls == 0 || k.others == 0 {
		t.Error("this proves little: want all three killed, answers that were live and answers that were not")
	}
}
