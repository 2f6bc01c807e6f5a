package hookbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"github.com/holdmail/holdmail/storage/memory"
	"github.com/holdmail/holdmail/storage/storagetest"
)

// open seals nothing, so that tests can read what is kept.
type open struct{}

func (open) Seal(_ string, _ time.Time, plaintext []byte) ([]byte, error) {
	return slices.Clone(plaintext), nil
}

var sms, git = storage.Hook{1}, storage.Hook{2}

func newStore() *memory.Hooks {
	return memory.New(storage.Options{
		HookTTL: time.Hour, Clock: clock.System{},
		Hooks: storage.HookCaps{Deliveries: 100, Bytes: 100 << 20, HookDeliveries: 100, HookBytes: 100 << 20},
	}).Hooks()
}

// box is a Service, as a test talks to it.
type box struct {
	*hookbox.Service
	t testing.TB
}

func newBox(t testing.TB, store hookbox.Store) box {
	t.Helper()
	s, err := hookbox.Open(t.Context(), hookbox.Options{Store: store, Sealer: open{}, MaxLive: 2})
	if err != nil {
		t.Fatal(err)
	}
	return box{s, t}
}

func (b box) deliver(text string) *hookbox.Sender {
	b.t.Helper()
	sender, err := b.Deliver(b.t.Context(), sms, []byte(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return sender
}

// next hands out what is there without waiting.
func (b box) next(holding ...string) []hookbox.Leased {
	b.t.Helper()
	batch, err := b.Next(b.t.Context(), hookbox.Ask{Most: hookbox.MaxBatch, Holding: holding})
	if err != nil {
		b.t.Fatal(err)
	}
	return batch
}

// texts are what the deliveries of a batch say.
func (b box) texts(batch []hookbox.Leased) (texts []string) {
	b.t.Helper()
	for _, one := range batch {
		sealed, err := b.Sealed(b.t.Context(), one.ID)
		if err != nil {
			b.t.Fatal(err)
		}
		texts = append(texts, string(sealed))
	}
	return texts
}

func (b box) want(batch []hookbox.Leased, want ...string) {
	b.t.Helper()
	if got := b.texts(batch); !slices.Equal(got, want) {
		b.t.Errorf("handed out %q, want %q", got, want)
	}
}

// waiting makes a next call, and returns when it waits.
func (b box) waiting(ctx context.Context, wait time.Duration) <-chan []hookbox.Leased {
	handed := make(chan []hookbox.Leased, 1)
	go func() {
		batch, _ := b.Next(ctx, hookbox.Ask{Most: hookbox.MaxBatch, Wait: wait})
		handed <- batch
	}()
	synctest.Wait()
	return handed
}

func (b box) acknowledge(want int, answers map[string]delivery.Response, ids ...string) {
	b.t.Helper()
	if got, err := b.Acknowledge(b.t.Context(), ids, answers); err != nil || got != want {
		b.t.Errorf("Acknowledge = %d, %v; want %d", got, err, want)
	}
}

func TestADeliveryIsHandedOutAgainWhenItsLeaseHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		b.deliver("one")
		b.deliver("two")
		first := b.next()
		b.want(first, "one", "two")
		b.want(b.next())
		time.Sleep(hookbox.LeaseFor - 1)
		b.want(b.next(first[1].ID)) // holding the second
		time.Sleep(time.Nanosecond)
		again := b.next()
		b.want(again, "one")
		if first[0].Attempt != 1 || again[0].Attempt != 2 {
			t.Errorf("attempts %d and %d, want 1 and 2", first[0].Attempt, again[0].Attempt)
		}
		b.acknowledge(2, nil, first[0].ID, first[1].ID)
		b.acknowledge(0, nil, first[0].ID, "unknown")
		time.Sleep(hookbox.LeaseFor)
		b.want(b.next())
	})
}

func TestACallThatWaitsGetsWhatRanOutInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		b.deliver("one")
		b.next()
		began := time.Now()
		b.want(<-b.waiting(t.Context(), 2*hookbox.LeaseFor), "one")
		if took := time.Since(began); took != hookbox.LeaseFor {
			t.Errorf("handed out after %v, want %v", took, hookbox.LeaseFor)
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	b := newBox(t, newStore())
	large := string(make([]byte, hookbox.BatchBytes+1))
	half := string(make([]byte, hookbox.BatchBytes/2))
	for _, text := range []string{large, half, half, "x"} {
		b.deliver(text)
	}
	for i := range hookbox.MaxBatch {
		b.deliver(fmt.Sprint(i))
	}
	for _, want := range []int{1, 2, hookbox.MaxBatch, 1, 0} {
		if got := len(b.next()); got != want {
			t.Errorf("%d handed out, want %d", got, want)
		}
	}
}

func TestASenderGetsTheHomesAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		handed := b.waiting(t.Context(), time.Minute)
		sender := b.deliver("hello")
		batch := <-handed
		b.want(batch, "hello")
		if !batch[0].Live {
			t.Error("not live, though its sender waits")
		}
		b.acknowledge(1, map[string]delivery.Response{batch[0].ID: {Status: 202}}, batch[0].ID)
		b.acknowledge(0, map[string]delivery.Response{batch[0].ID: {Status: 500}}, batch[0].ID)
		if got := sender.Answer(t.Context()); got == nil || got.Status != 202 {
			t.Errorf("answer %+v, want the first", got)
		}
	})
}

func TestASenderWaitsNoLongerThanItsAddressHas(t *testing.T) {
	for _, tt := range []struct {
		name       string
		wait, want time.Duration
	}{
		{"by default", 0, 9 * time.Second},
		{"a shorter one", 2500 * time.Millisecond, 2500 * time.Millisecond},
		{"never longer", time.Minute, 9 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, newStore())
				if err := b.Register(t.Context(), []hookbox.Address{{Hook: sms, Wait: tt.wait}}); err != nil {
					t.Fatal(err)
				}
				handed := b.waiting(t.Context(), time.Minute)
				began := time.Now()
				sender := b.deliver("hello")
				<-handed
				if answer := sender.Answer(t.Context()); answer != nil || time.Since(began) != tt.want {
					t.Errorf("answer %+v after %v, want none after %v", answer, time.Since(began), tt.want)
				}
				if kept, err := b.Status(t.Context()); err != nil || kept.Deliveries != 1 {
					t.Errorf("%+v, %v: the delivery must stay", kept, err)
				}
			})
		})
	}
}

func TestWhoNeedNotWaitForAnAnswerDoesNot(t *testing.T) {
	nobodyAsks := func(b box) *hookbox.Sender { return b.deliver("x") }
	manyWait := func(b box) *hookbox.Sender {
		b.waiting(b.t.Context(), time.Minute)
		b.deliver("1")
		b.waiting(b.t.Context(), time.Minute)
		b.deliver("2")
		b.waiting(b.t.Context(), time.Minute)
		return b.deliver("3") // MaxLive is 2
	}
	acknowledged := func(b box) *hookbox.Sender {
		handed := b.waiting(b.t.Context(), time.Minute)
		sender := b.deliver("x")
		b.acknowledge(1, nil, (<-handed)[0].ID)
		return sender
	}
	ended := func(b box) *hookbox.Sender {
		handed := b.waiting(b.t.Context(), time.Minute)
		sender := b.deliver("x")
		<-handed
		b.End()
		return sender
	}
	for name, begin := range map[string]func(box) *hookbox.Sender{
		"nobody asks for deliveries": nobodyAsks, "too many wait": manyWait,
		"acknowledged without an answer": acknowledged, "the relay stops": ended,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, newStore())
				defer b.End()
				began := time.Now()
				if answer := begin(b).Answer(t.Context()); answer != nil || time.Since(began) != 0 {
					t.Errorf("answer %+v after %v, want none at once", answer, time.Since(began))
				}
			})
		})
	}
}

func TestWhatDidNotArriveIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		handed := b.waiting(t.Context(), time.Minute)
		sender := b.deliver("hello")
		lost := <-handed
		b.GiveBack(lost)
		batch := b.next()
		b.want(batch, "hello")
		if batch[0].Attempt != 1 || !batch[0].Live {
			t.Errorf("attempt %d, live %v; want the first, live", batch[0].Attempt, batch[0].Live)
		}
		b.acknowledge(1, map[string]delivery.Response{batch[0].ID: {Status: 200}}, batch[0].ID)
		b.GiveBack(lost) // too late to matter
		if sender.Answer(t.Context()) == nil {
			t.Error("no answer")
		}
	})
}

func TestEachDeliveryIsLeasedToOneCaller(t *testing.T) {
	b := newBox(t, newStore())
	const all = 90
	for i := range all {
		b.deliver(fmt.Sprint(i))
	}
	var g sync.WaitGroup
	var mu sync.Mutex
	times := map[string]int{}
	for range 8 {
		g.Go(func() {
			for {
				batch, err := b.Next(t.Context(), hookbox.Ask{Most: 3})
				if err != nil {
					t.Error(err)
				}
				if len(batch) == 0 {
					return
				}
				mu.Lock()
				for _, one := range batch {
					times[one.ID]++
				}
				mu.Unlock()
			}
		})
	}
	g.Wait()
	if len(times) != all {
		t.Errorf("%d deliveries handed out, want %d", len(times), all)
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was handed out %d times", id, n)
		}
	}
}

func TestTheLastWhoCameIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		old := b.waiting(t.Context(), hookbox.LeaseFor/2) // before the lease ends
		fresh := b.waiting(t.Context(), time.Minute)
		b.deliver("hello")
		b.want(<-fresh, "hello")
		b.want(<-old)
	})
}

func TestOneCallTooManySendsTheOldestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		defer b.End()
		oldest := b.waiting(t.Context(), time.Hour)
		began := time.Now()
		for range 16 {
			b.waiting(t.Context(), time.Hour)
		}
		if batch := <-oldest; batch != nil || time.Since(began) != 0 {
			t.Errorf("the oldest got %v after %v, want nothing at once", batch, time.Since(began))
		}
	})
}

func TestACallerWhoLeavesTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		ctx, leave := context.WithCancel(t.Context())
		gone := b.waiting(ctx, time.Hour)
		leave()
		<-gone
		if sender := b.deliver("hello"); sender != nil {
			t.Error("a sender waits though nobody asks")
		}
		b.want(b.next(), "hello")
	})
}

func TestAtTheEndNobodyWaitsForDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, newStore())
		waits := b.waiting(t.Context(), time.Hour)
		began := time.Now()
		b.End()
		b.End()
		b.want(<-waits)
		b.want(<-b.waiting(t.Context(), time.Hour))
		if time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
	})
}

func TestARestartHandsOutAnewAndRemembersAddresses(t *testing.T) {
	store := newStore()
	b := newBox(t, store)
	if err := b.Register(t.Context(), []hookbox.Address{{Hook: sms}, {Hook: sms}}); err != nil {
		t.Fatal(err)
	}
	b.deliver("hello")
	b.next()
	b = newBox(t, store)
	if !b.Registered(sms) || b.Registered(git) {
		t.Errorf("registered %v and %v, want the first alone", b.Registered(sms), b.Registered(git))
	}
	b.want(b.next(), "hello")
}

func TestABadDayOfTheStore(t *testing.T) {
	for _, tt := range []struct {
		name string
		kept bool // the write happened; only its answer was lost
		want int  // copies after the sender's second try: at least one
	}{{"write failed", false, 1}, {"answer lost", true, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			store := &storagetest.FaultyHooks{HookStore: newStore()}
			store.Fail(1, tt.kept)
			b := newBox(t, store)
			if _, err := b.Deliver(t.Context(), sms, []byte("hello")); !errors.Is(err, storagetest.ErrFault) {
				t.Fatalf("Deliver = %v, want %v", err, storagetest.ErrFault)
			}
			b.deliver("hello")
			if got := len(b.next()); got != tt.want {
				t.Errorf("%d copies, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatHasExpiredIsKeptNoMore(t *testing.T) {
	now := clock.NewFake(time.Now())
	b := newBox(t, memory.New(storage.Options{
		HookTTL: time.Hour, Clock: now,
		Hooks: storage.HookCaps{Deliveries: 1, Bytes: 100, HookDeliveries: 1, HookBytes: 100},
	}).Hooks())
	b.deliver("hello")
	for _, want := range []int64{1, 0} {
		kept, err := b.Status(t.Context())
		if err != nil || kept.Deliveries != want || kept.Oldest.IsZero() != (want == 0) {
			t.Errorf("%+v, %v; want %d deliveries", kept, err, want)
		}
		now.Advance(time.Hour)
	}
	b.want(b.next())
}
