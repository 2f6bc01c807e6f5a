package pull_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/pull/ledger"
	"github.com/holdmail/holdmail/appliance/seal"
)

func TestHandsOverWhatWasSent(t *testing.T) {
	h := newHome(t)
	r := post("hi", [2]string{"X-Twice", "1"}, [2]string{"X-Twice", "2"})
	h.relay.put(h.sealed("d1", h.now.Add(-time.Second), r), h.sealed("d2", h.now.Add(-2*time.Minute), post("late")))
	h.mustDrain()
	h.wants("d1 d2", "d1 d2")
	one, two := h.handler.got[0], h.handler.got[1]
	if !one.Request.Equal(r) || one.Hook.Name != "app" || one.Waited || one.Repeat || !one.Received.Equal(h.now.Add(-time.Second)) {
		t.Errorf("handed over %+v", one)
	}
	if !two.Waited || two.Repeat {
		t.Errorf("handed over %+v, want one that waited", two)
	}
}

func TestHandsOverWhatWasSealedForBothKindsOfKey(t *testing.T) {
	for _, hybrid := range []bool{false, true} {
		h := newHome(t)
		k, err := seal.NewKey(hybrid)
		if err != nil {
			t.Fatal(err)
		}
		h.key = k
		h.relay.set(func() { h.relay.setup = k.Setup() })
		h.relay.put(h.sealed("d1", h.now, post("hi")))
		h.mustDrain()
		h.wants("d1", "d1")
	}
}

func TestRegistersHooksByTheirHash(t *testing.T) {
	h := newHome(t)
	h.hooks = append(h.hooks, pull.Hook{ID: "quick", Name: "quick", Deadline: 2500 * time.Millisecond})
	h.mustDrain()
	if want := []string{hookHash("secret-id"), hookHash("quick")}; !slices.Equal(h.relay.hooks, want) {
		t.Errorf("registered %v, want %v", h.relay.hooks, want)
	}
	if got := h.relay.deadline[hookHash("quick")]; got != 2.5 || len(h.relay.deadline) != 1 {
		t.Errorf("deadlines %v, want 2.5 seconds for one", h.relay.deadline)
	}
}

func TestLetsGoWhatWasNotSealedForThisComputer(t *testing.T) {
	h := newHome(t)
	other, err := seal.NewKey(false)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(id string, change func(*item)) item {
		i := h.sealed(id, h.now, post(id))
		change(&i)
		return i
	}
	elsewhere := post("x")
	elsewhere.URL = "https://relay.example/hooks/other"
	foreign, err := other.Setup().Seal("d3", h.now, post("x").AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	junk, err := h.key.Setup().Seal("d6", h.now, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	odd := post("x")
	odd.Method = "DELETE"
	h.relay.put(
		h.sealed("d0", h.now, odd),
		changed("d1", func(i *item) { i.ID = "d1-renamed" }),
		changed("d2", func(i *item) { i.ReceivedAt++ }),
		changed("d3", func(i *item) { i.Sealed = foreign }),
		changed("d4", func(i *item) { i.Sealed = nil }),
		h.sealed("d5", h.now, elsewhere),
		changed("d6", func(i *item) { i.Sealed = junk }),
		h.sealed("d7", h.now, post("good")),
	)
	h.mustDrain()
	h.wants("d7", "d0 d1-renamed d2 d3 d4 d5 d6 d7")
}

// A relay whose disk is full can learn no hooks before what it keeps has gone.
func TestAFullRelayIsDrainedBeforeItLearnsTheHooks(t *testing.T) {
	h := newHome(t)
	h.relay.full = true
	h.relay.put(h.sealed("d1", h.now, post("x")))
	if err := h.drain(); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error = %v, want that of the relay", err)
	}
	h.wants("d1", "d1")
	h.relay.full = false
	h.mustDrain()
	if len(h.relay.hooks) == 0 {
		t.Error("it was not told the hooks")
	}
}

func TestAnAnswerIsSentAsLongAsItIs(t *testing.T) {
	h := newHome(t)
	page := strings.Repeat("<&>", 300_000)
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		return delivery.Response{Status: 200, Body: []byte(page)}, nil
	}
	live := h.sealed("d1", h.now, post("x"))
	live.Live = true
	h.relay.put(live)
	h.mustDrain()
	if got := string(h.relay.answers["d1"].Body); got != page {
		t.Errorf("an answer of %d bytes came as %d", len(page), len(got))
	}
	if most := len(page) + 1000; h.relay.longest > most {
		t.Errorf("it took %d bytes, want %d at most", h.relay.longest, most)
	}
}

func TestRefusesForTimeUntilTheClocksAgree(t *testing.T) {
	week := 7*24*time.Hour + time.Hour
	for _, tt := range []struct {
		name    string
		age     time.Duration
		refused bool
	}{
		{"a week and an hour old", week, false},
		{"a millisecond more", week + time.Millisecond, true},
		{"from 1970", 20370 * 24 * time.Hour, true},
		{"five minutes ahead", -5 * time.Minute, false},
		{"a millisecond more ahead", -5*time.Minute - time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			received := h.now.Add(-tt.age)
			h.relay.put(h.sealed("d1", received, post("x")))
			h.mustDrain()
			if !tt.refused {
				h.wants("d1", "d1")
				return
			}
			h.wants("", "")
			if h.last.RefusedForTime != 1 || h.last.TimeOff == "" {
				t.Errorf("status %+v, want one refused for its time", h.last)
			}
			h.now = received // the clocks agree
			h.mustDrain()
			h.wants("d1", "d1")
			if h.last.RefusedForTime != 0 {
				t.Errorf("status %+v, want none refused", h.last)
			}
		})
	}
}

// One that came with another batch than the last is refused no less.
func TestRefusedDeliveriesStayInTheStatus(t *testing.T) {
	h := newHome(t)
	early := h.sealed("d1", h.now.Add(time.Hour), post("x"))
	h.relay.put(early)
	stop := h.run(h.handler)
	eventually(t, "it is leased", func() bool { return look(h.relay, func() bool { return h.relay.out["d1"] }) })
	h.relay.put(h.sealed("d2", h.now, post("y")))
	eventually(t, "the other is acknowledged", func() bool { return len(h.relay.ackedIDs()) == 1 })
	calls := look(h.relay, func() int { return h.relay.nexts })
	eventually(t, "two polls more", func() bool { return look(h.relay, func() int { return h.relay.nexts }) > calls+1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := h.last.RefusedForTime; got != 1 {
		t.Errorf("%d are refused for their time, want 1", got)
	}
}

func TestNothingIsHandedOverTwice(t *testing.T) {
	h := newHome(t)
	signed := post("x", [2]string{"Webhook-Id", "m1"})
	h.relay.put(h.sealed("d1", h.now, signed))
	h.mustDrain()
	h.relay.put(h.sealed("d1", h.now, signed)) // the acknowledgement was lost
	h.relay.put(h.sealed("d2", h.now, signed)) // under another id
	h.mustDrain()
	h.wants("d1", "d1 d1 d2")

	h.now = h.now.Add(6 * 24 * time.Hour)
	h.relay.put(h.sealed("d3", h.now, signed)) // with a time that is made up
	h.mustDrain()
	h.wants("d1", "d1 d1 d2 d3")
}

// A handler that failed may have done the work: what comes again must have the id
// that it knows.
func TestWhatASenderSentAgainWaitsForTheFirst(t *testing.T) {
	h := newHome(t)
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) { return delivery.Response{Status: 500}, nil }
	signed := post("x", [2]string{"Webhook-Id", "m1"})
	h.relay.put(h.sealed("d1", h.now, signed), h.sealed("d2", h.now, signed), h.sealed("d3", h.now, post("x")))
	h.mustDrain()
	h.wants("d1 d3", "")
	h.handler.answer = nil
	h.mustDrain()
	h.wants("d1 d3 d1 d3", "d1 d2 d3")
}

// A home computer's clock jumps ten days ahead, as after an empty battery, and is set
// right again.
func TestAClockThatJumpsHasNothingForgotten(t *testing.T) {
	h := newHome(t)
	signed := post("x", [2]string{"Webhook-Id", "m1"})
	right := h.now
	h.relay.clock = right
	h.relay.put(h.sealed("d1", right, signed))
	h.mustDrain()
	h.now = right.AddDate(0, 0, 10)
	h.mustDrain()
	h.now = right
	h.relay.put(h.sealed("d1", right, signed), h.sealed("d2", right, signed))
	h.mustDrain()
	h.wants("d1", "d1 d1 d2")

	h.relay.clock = right.Add(ledger.Keep) // both say that it is eight days later
	h.now = h.relay.clock
	h.relay.put(h.sealed("d3", h.now, signed))
	h.mustDrain()
	h.wants("d1 d3", "d1 d1 d2 d3")
}

func TestWhatWasHandedOverIsLetGoAtAnyTime(t *testing.T) {
	h := newHome(t)
	d := h.sealed("d1", h.now, post("x"))
	h.relay.put(d)
	h.mustDrain()
	h.now = h.now.AddDate(1, 0, 0)
	h.relay.clock = h.now.AddDate(-1, 0, 0)
	h.relay.put(d) // the acknowledgement was lost
	h.mustDrain()
	h.wants("d1", "d1 d1")
}

func TestEqualHeartbeatsAreAllDelivered(t *testing.T) {
	h := newHome(t)
	h.relay.put(h.sealed("d1", h.now, post("beat")), h.sealed("d2", h.now, post("beat")), h.sealed("d3", h.now, post("other")))
	h.mustDrain()
	h.wants("d1 d2 d3", "d1 d2 d3")
	for i, want := range []bool{false, true, false} {
		if got := h.handler.got[i].Repeat; got != want {
			t.Errorf("delivery %d is a repeat: %v, want %v", i+1, got, want)
		}
	}
}

func TestWhatTellsRequestsApart(t *testing.T) {
	base := post("x", [2]string{"Webhook-Id", "m1"}, [2]string{"User-Agent", "a"})
	for _, tt := range []struct {
		name   string
		change func(*delivery.Request)
		again  bool // it is the same delivery
	}{
		{"nothing changed", func(*delivery.Request) {}, true},
		{"another user agent", func(r *delivery.Request) { r.Headers[1][1] = "b" }, true},
		{"another host", func(r *delivery.Request) { r.URL = strings.Replace(r.URL, "relay.example", "other.example", 1) }, true},
		{"another id", func(r *delivery.Request) { r.Headers[0][1] = "m2" }, false},
		{"another signature", func(r *delivery.Request) { r.Headers = append(r.Headers, [2]string{"X-Line-Signature", "s"}) }, false},
		{"another signature, named otherwise", func(r *delivery.Request) { r.Headers = append(r.Headers, [2]string{"X-Signature-Ed25519", "s"}) }, false},
		{"another count", func(r *delivery.Request) { r.Headers = append(r.Headers, [2]string{"Paypal-Transmission-Id", "1"}) }, false},
		{"another query", func(r *delivery.Request) { r.URL += "&b" }, false},
		{"another method", func(r *delivery.Request) { r.Method = "GET" }, false},
		{"another body", func(r *delivery.Request) { r.Body = []byte("y") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			changed := base
			changed.Headers = slices.Clone(base.Headers)
			tt.change(&changed)
			h.relay.put(h.sealed("d1", h.now, base), h.sealed("d2", h.now, changed))
			h.mustDrain()
			want := "d1 d2"
			if tt.again {
				want = "d1"
			}
			h.wants(want, "d1 d2")
		})
	}
}

func TestAFailingHandlerIsTriedFiveTimesOverRestarts(t *testing.T) {
	for name, answer := range map[string]func(pull.Delivery) (delivery.Response, error){
		"500":      func(pull.Delivery) (delivery.Response, error) { return delivery.Response{Status: 500}, nil },
		"too slow": func(pull.Delivery) (delivery.Response, error) { return delivery.Response{}, os.ErrDeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.handler.answer = answer
			h.relay.put(h.sealed("d1", h.now, post("x", [2]string{"Webhook-Id", "m1"})))
			for range 4 {
				h.mustDrain()
			}
			h.wants("d1 d1 d1 d1", "")
			h.mustDrain()
			h.wants("d1 d1 d1 d1 d1", "d1")

			h.handler.answer = nil // what its sender sends again is tried again
			h.relay.put(h.sealed("d1", h.now, post("x", [2]string{"Webhook-Id", "m1"})), h.sealed("d2", h.now, post("x", [2]string{"Webhook-Id", "m1"})))
			h.mustDrain()
			h.wants("d1 d1 d1 d1 d1 d2", "d1 d1 d2")
		})
	}
}

// A program that is restarted breaks off once, and one that a delivery kills each
// time must not be tried for ever.
func TestAHandlerThatBreaksOffIsTriedAgainInAMoment(t *testing.T) {
	h := newHome(t)
	broken := 1
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		if broken--; broken >= 0 {
			return delivery.Response{}, errors.New("EOF")
		}
		return delivery.Response{Status: 200}, nil
	}
	h.relay.put(h.sealed("d1", h.now, post("1")))
	h.mustDrain()
	h.wants("d1 d1", "d1")

	broken = 100
	h.relay.put(h.sealed("d2", h.now, post("2")))
	for range 3 {
		h.mustDrain()
	}
	h.wants("d1 d1 d2 d2 d2 d2 d2", "d1 d2")
}

func TestAnswersBelow500AreAnswers(t *testing.T) {
	h := newHome(t)
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) { return delivery.Response{Status: 499}, nil }
	h.relay.put(h.sealed("d1", h.now, post("x")))
	h.mustDrain()
	h.wants("d1", "d1")
}

func TestAHandlerThatIsNotThereLosesNothing(t *testing.T) {
	h := newHome(t)
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		return delivery.Response{}, fmt.Errorf("%w: refused", pull.ErrNotThere)
	}
	h.relay.put(h.sealed("d1", h.now, post("1")), h.sealed("d2", h.now, post("2")))
	for range 7 { // more often than a handler may fail
		if err := h.drain(); !errors.Is(err, pull.ErrNotThere) {
			t.Fatalf("Run: %v, want ErrNotThere", err)
		}
	}
	if got := h.handler.ids(); slices.Contains(got, "d2") || len(h.relay.ackedIDs()) != 0 {
		t.Errorf("looked for with %v, acknowledged %v; want d1 alone, and nothing", got, h.relay.ackedIDs())
	}
	if h.last.Handler == "" {
		t.Errorf("status %+v, want trouble with the handler", h.last)
	}
	h.handler.answer, h.handler.got = nil, nil
	h.mustDrain()
	h.wants("d1 d2", "d1 d2")
}

// run runs pull in the background until the test stops it, or ends.
func (h *home) run(handler pull.Handler) (stop func() error) {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p, l := h.open(handler)
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(p.Run(ctx), l.Close()) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err // for the cleanup
		return err
	}
	h.Cleanup(func() { stop() })
	return stop
}

func TestAHandlerIsLookedForUntilItIsThere(t *testing.T) {
	h := newHome(t)
	looked, there := make(chan struct{}), make(chan struct{})
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		select {
		case <-there:
			return delivery.Response{Status: 200}, nil
		case looked <- struct{}{}:
			return delivery.Response{}, pull.ErrNotThere
		}
	}
	h.relay.put(h.sealed("d1", h.now, post("1")), h.sealed("d2", h.now, post("2")))
	h.run(h.handler)
	for range 20 {
		<-looked
	}
	eventually(t, "the leases of both are renewed", func() bool {
		renewed := look(h.relay, func() []string { return slices.Clone(h.relay.renewed) })
		return slices.Contains(renewed, "d1") && slices.Contains(renewed, "d2")
	})
	if got := h.relay.ackedIDs(); len(got) != 0 {
		t.Errorf("acknowledged %v while nobody was there", got)
	}
	close(there)
	eventually(t, "both acknowledged", func() bool { return len(h.relay.ackedIDs()) == 2 })
	if got := slices.Compact(h.handler.ids()); !slices.Equal(got, []string{"d1", "d2"}) {
		t.Errorf("handed over in the order %v", got)
	}
}

// A signature's age is measured from when it came, if that is a while ago.
func TestWaitingForTheHandlerIsWaiting(t *testing.T) {
	h := newHome(t)
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		defer func() { h.now = h.now.Add(time.Minute) }()
		if len(h.handler.ids()) < 3 {
			return delivery.Response{}, pull.ErrNotThere
		}
		return delivery.Response{Status: 200}, nil
	}
	h.relay.put(h.sealed("d1", h.now, post("x")))
	h.mustDrain()
	var waited []bool
	for _, d := range h.handler.got {
		waited = append(waited, d.Waited)
	}
	if want := []bool{false, false, true}; !slices.Equal(waited, want) {
		t.Errorf("waited more than a minute: %v, want %v", waited, want)
	}
}

func TestLiveAnswersGoBack(t *testing.T) {
	h := newHome(t)
	want := delivery.Response{Status: 201, Headers: [][2]string{{"Content-Type", "text/xml"}}, Body: []byte("<a/>\xff")}
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) { return want, nil }
	h.run(h.handler)
	live := h.sealed("d1", h.now, post("x"))
	live.Live = true
	h.relay.put(live, h.sealed("d2", h.now, post("y")))
	eventually(t, "both acknowledged", func() bool { return len(h.relay.ackedIDs()) == 2 })
	answers := look(h.relay, func() map[string]delivery.Response { return h.relay.answers })
	if got := answers["d1"]; got.Status != 201 || string(got.Body) != "<a/>\xff" || !slices.Equal(got.Headers, want.Headers) {
		t.Errorf("answered %+v, want %+v", got, want)
	}
	if _, answered := answers["d2"]; answered {
		t.Error("an answer for a sender who is gone")
	}
}

// The relay is away for a moment, while the first of a batch is at the handler.
func TestALostAnswerDoesNotKeepTheOthers(t *testing.T) {
	h := newHome(t)
	h.handler.answer = func(d pull.Delivery) (delivery.Response, error) {
		h.relay.set(func() { h.relay.down = d.ID == "d1" })
		return delivery.Response{Status: 200}, nil
	}
	for _, id := range []string{"d1", "d2", "d3"} {
		d := h.sealed(id, h.now, post(id))
		d.Live = true
		h.relay.put(d)
	}
	h.mustDrain()
	h.wants("d1 d2 d3", "d1 d2 d3")
}

func TestASlowHandlersLeasesAreRenewed(t *testing.T) {
	h := newHome(t)
	working, finish := make(chan struct{}), make(chan struct{})
	h.handler.answer = func(d pull.Delivery) (delivery.Response, error) {
		if d.ID == "d1" {
			close(working)
			<-finish
		}
		return delivery.Response{Status: 200}, nil
	}
	h.relay.put(h.sealed("d1", h.now, post("1")), h.sealed("d2", h.now, post("2")))
	h.run(h.handler)
	<-working
	eventually(t, "the leases of both are renewed twice", func() bool {
		renewed := look(h.relay, func() []string { return slices.Clone(h.relay.renewed) })
		return len(renewed) >= 4 && slices.Contains(renewed, "d1") && slices.Contains(renewed, "d2")
	})
	close(finish)
	eventually(t, "both acknowledged", func() bool { return len(h.relay.ackedIDs()) == 2 })
	h.wants("d1 d2", "d1 d2")
}

func TestStoppingFinishesWhatIsAtWork(t *testing.T) {
	h := newHome(t)
	working, finish := make(chan struct{}), make(chan struct{})
	h.handler.answer = func(pull.Delivery) (delivery.Response, error) {
		close(working)
		<-finish
		return delivery.Response{Status: 200}, nil
	}
	h.relay.put(h.sealed("d1", h.now, post("1")), h.sealed("d2", h.now, post("2")))
	stop := h.run(h.handler)
	<-working
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(finish)
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v, want nil", err)
	}
	if got := h.relay.ackedIDs(); !slices.Contains(got, "d1") {
		t.Errorf("acknowledged %v, want d1 among them", got)
	}
}

func TestAFullLedgerStopsBeforeItForgets(t *testing.T) {
	h := newHome(t)
	h.room = 400 // bytes: some deliveries, and not all
	for i := range 9 {
		h.relay.put(h.sealed(fmt.Sprintf("d%d", i), h.now, post(fmt.Sprint(i))))
	}
	if err := h.drain(); !errors.Is(err, ledger.ErrFull) {
		t.Fatalf("Run: %v, want ErrFull", err)
	}
	got, acked := len(h.handler.ids()), len(h.relay.ackedIDs())
	if got == 0 || got == 9 || acked != got || h.last.Trouble == "" {
		t.Errorf("handed over %d, acknowledged %d, status %+v; want some, all of these, and trouble", got, acked, h.last)
	}
	h.now = h.now.Add(ledger.Keep)
	h.relay.set(func() { h.relay.kept = nil })
	h.mustDrain() // there is room again
}

func TestAnotherComputersRelayIsNotDrained(t *testing.T) {
	h := newHome(t)
	h.relay.put(h.sealed("d1", h.now, post("x")))
	mine := h.key
	other, err := seal.NewKey(false)
	if err != nil {
		t.Fatal(err)
	}
	h.key = other
	if err := h.drain(); !errors.Is(err, pull.ErrToken) || h.last.Trouble != pull.ErrToken.Error() {
		t.Errorf("Run: %v, status %+v; want ErrToken, and trouble", err, h.last)
	}
	h.wants("", "")
	h.key = mine

	// It takes our token and seals for another key: what it hands out would be let go.
	theirs, ours := strings.Split(other.Setup().Code(), "."), strings.Split(mine.Setup().Code(), ".")
	mixed, err := seal.ParseSetup("hm1." + theirs[1] + "." + ours[2])
	if err != nil {
		t.Fatal(err)
	}
	h.relay.set(func() { h.relay.setup = mixed })
	if err := h.drain(); !errors.Is(err, pull.ErrOtherKey) {
		t.Errorf("Run: %v, want ErrOtherKey", err)
	}
	h.wants("", "")
	h.relay.set(func() { h.relay.setup = mine.Setup() })
	h.mustDrain()
	h.wants("d1", "d1")
}

func TestSurvivesTheRelaysRestart(t *testing.T) {
	h := newHome(t)
	h.run(h.handler)
	eventually(t, "the hooks are registered", func() bool { return look(h.relay, func() bool { return h.relay.puts == 1 }) })
	h.relay.set(func() { h.relay.down = true })
	h.relay.put(h.sealed("d1", h.now, post("x")))
	eventually(t, "three calls in vain", func() bool { return look(h.relay, func() bool { return h.relay.refused >= 3 }) })
	h.relay.set(func() { h.relay.down = false; clear(h.relay.out) })
	eventually(t, "the delivery is acknowledged", func() bool { return len(h.relay.ackedIDs()) == 1 })
	h.wants("d1", "d1")
	if puts := look(h.relay, func() int { return h.relay.puts }); puts != 2 {
		t.Errorf("the hooks were registered %d times, want 2: a relay that restarts forgets their deadlines", puts)
	}
}

func TestHooksServedNoMore(t *testing.T) {
	h := newHome(t)
	h.relay.put(h.sealed("d1", h.now, post("x")))
	h.hooks = nil
	h.mustDrain()
	h.wants("", "") // it may come back in the first ten minutes

	p, l := h.open(h.handler)
	defer l.Close()
	h.relay.expire()
	p.Once = true
	start := h.now
	calls := 0
	p.Hooks = func() ([]pull.Hook, error) { // asked once before the first poll
		if calls++; calls > 1 {
			h.now = start.Add(10 * time.Minute)
		}
		return nil, nil
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wants("", "d1")
}

// An editor empties the file of hooks before it writes it.
func TestAHookThatIsGoneForAMomentLosesNothing(t *testing.T) {
	h := newHome(t)
	h.relay.put(h.sealed("d1", h.now, post("x")))
	p, l := h.open(h.handler)
	p.Once = true
	hooks := h.hooks
	p.Hooks = func() ([]pull.Hook, error) { // asked at the start and before each poll
		defer func() { hooks, h.now = nil, h.now.Add(time.Hour) }()
		return hooks, nil
	}
	if err := errors.Join(p.Run(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	h.wants("", "")
	h.mustDrain()
	h.wants("d1", "d1")
}

func TestHooksThatCannotBeReadAreToldOfOnce(t *testing.T) {
	h := newHome(t)
	for i := range 40 { // three polls
		h.relay.put(h.sealed(fmt.Sprint("d", i), h.now, post(fmt.Sprint(i))))
	}
	p, l := h.open(h.handler)
	defer l.Close()
	var log strings.Builder
	p.Log, p.Once = slog.New(slog.NewTextHandler(&log, nil)), true
	asked := 0
	p.Hooks = func() ([]pull.Hook, error) {
		if asked++; asked > 1 {
			return nil, errors.New("line 1 is none")
		}
		return h.hooks, nil
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "line 1 is none"); n != 1 || asked < 4 || len(h.handler.ids()) != 40 {
		t.Errorf("told of %d times after %d polls, %d handed over; want once, and all 40", n, asked-1, len(h.handler.ids()))
	}
}

// hasty is a relay that never waits.
type hasty struct {
	setup seal.Setup
	calls int
	stop  func()
}

func (r *hasty) RoundTrip(*http.Request) (*http.Response, error) {
	if r.calls++; r.calls > 1000 {
		r.stop()
	}
	body := fmt.Sprintf(`{"keyId":%q,"deliveries":[]}`, r.setup.KeyID())
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestARelayThatDoesNotWaitIsNotAskedWithoutEnd(t *testing.T) {
	h := newHome(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		relay := &hasty{setup: h.key.Setup(), stop: stop}
		r, err := pull.NewRelay("https://relay.example", h.key.Token(), "")
		if err != nil {
			t.Fatal(err)
		}
		r.Over(relay)
		book, err := ledger.Open(h.ledger, h.room)
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		p := pull.New(r, h.key, h.handler, book, slog.New(slog.DiscardHandler))
		p.Hooks = func() ([]pull.Hook, error) { return h.hooks, nil }
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if relay.calls < 100 || relay.calls > 300 {
			t.Errorf("asked %d times in ten minutes, want about one in four seconds", relay.calls)
		}
	})
}
