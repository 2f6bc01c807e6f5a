package mailbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"github.com/holdmail/holdmail/storage/memory"
)

const (
	ann = did.ID("did:cid:ann")
	bob = did.ID("did:cid:bob")
)

// house is a mailbox service on an engine in memory.
type house struct {
	*testing.T
	*mailbox.Service
}

func newHouse(t *testing.T, waiters int) house {
	engine := memory.New(storage.Options{
		Caps:       storage.Caps{RecipientBytes: 1 << 20, TotalBytes: 1 << 20, RecipientMessages: 100, TotalMessages: 100, Challenges: 1},
		MessageTTL: time.Hour,
		Clock:      clock.NewFake(time.Now()),
	})
	return house{t, &mailbox.Service{Store: engine.Mailbox(), MaxRecipients: 10, Waiters: mailbox.NewWaiters(waiters)}}
}

// deposit leaves a letter for each of to and returns the ids.
func (h house) deposit(to ...did.ID) []string {
	h.Helper()
	var kids []string
	for _, id := range to {
		kids = append(kids, string(id)+"#key-1")
	}
	ids, err := h.Deposit(h.Context(), []byte(general(kids...)))
	if err != nil {
		h.Fatal(err)
	}
	return ids
}

// waiting is a call of Await that is under way.
type waiting struct {
	leave context.CancelFunc
	over  bool
	err   error
	took  time.Duration
}

func (h house) await(owner did.ID, after string, limit time.Duration, holders ...storage.Holder) *waiting {
	ctx, leave := context.WithCancel(h.Context())
	w, start := &waiting{leave: leave}, time.Now()
	go func() {
		err := h.Await(ctx, owner, after, limit, holders...)
		w.over, w.err, w.took = true, err, time.Since(start)
	}()
	synctest.Wait()
	return w
}

// want fails the test unless a call of Await is under way still, or has ended so.
func (w *waiting) want(t testing.TB, over bool, err error) {
	t.Helper()
	synctest.Wait()
	if w.over != over || !errors.Is(w.err, err) {
		t.Errorf("it is over: %t, with %v; want %t, %v", w.over, w.err, over, err)
	}
}

func TestADepositWakesThoseWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 10)
		anns, bobs := h.await(ann, "", time.Minute), h.await(bob, "", time.Minute)
		phone, eves := h.await(ann, "", time.Minute), h.await("did:cid:eve", "", time.Minute)
		anns.want(t, false, nil)
		h.deposit(ann)
		anns.want(t, true, nil)
		phone.want(t, true, nil)
		bobs.want(t, false, nil)
		if anns.took != 0 {
			t.Errorf("it was woken after %v", anns.took)
		}
		h.deposit("did:cid:cid", bob)
		bobs.want(t, true, nil)
		eves.want(t, false, nil)
		eves.leave()
	})
}

func TestWhoComesToAMailboxWithMailDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 10)
		first := h.deposit(ann)[0]
		h.await(ann, "", time.Minute).want(t, true, nil)
		later := h.await(ann, first, time.Minute)
		later.want(t, false, nil) // there is nothing after it
		h.deposit(ann)
		later.want(t, true, nil)
	})
}

func TestAWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 10)
		whole := h.await(ann, "", time.Minute)
		left := h.await(ann, "", time.Minute)
		left.leave()
		left.want(t, true, context.Canceled)
		time.Sleep(time.Minute)
		whole.want(t, true, nil)

		late := h.await(ann, "", time.Minute)
		h.Waiters.End()
		late.want(t, true, nil)
		h.await(ann, "", time.Minute).want(t, true, nil) // nobody waits any more
		if whole.took != time.Minute || late.took != 0 {
			t.Errorf("they took %v and %v", whole.took, late.took)
		}
		h.Waiters.End()
	})
}

// A message that another of the owner's devices removed first is no reason to
// answer.
func TestAWaiterWhoFindsNothingWaitsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 10)
		removing := &removesAtOnce{Store: h.Store}
		h.Store = removing
		one := h.await(ann, "", time.Minute)
		h.deposit(ann)
		one.want(t, false, nil)
		removing.off = true
		h.deposit(ann)
		one.want(t, true, nil)
	})
}

// removesAtOnce is a store in which mail is gone before anyone sees it.
type removesAtOnce struct {
	mailbox.Store
	off bool
}

func (s *removesAtOnce) Add(ctx context.Context, e storage.Envelope) ([]string, error) {
	ids, err := s.Store.Add(ctx, e)
	if err == nil && !s.off {
		_, err = s.Remove(ctx, e.Recipients[0], ids)
	}
	return ids, err
}

func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 3)
		home := storage.Holder{Name: "203.0.113.1", Most: 2}
		first, second := h.await(ann, "", time.Minute, home), h.await(ann, "", time.Minute, home)
		h.await(ann, "", time.Minute, home).want(t, true, nil) // its source has its share
		third := h.await(bob, "", time.Minute)
		h.await(bob, "", time.Minute).want(t, true, nil) // there is no place at all
		first.leave()
		first.want(t, true, context.Canceled)
		fourth := h.await(ann, "", time.Minute, home)
		for _, w := range []*waiting{second, third, fourth} {
			w.want(t, false, nil)
			w.leave()
		}
	})
}

func TestWaitersWithoutAPlaceStillSeeTheMail(t *testing.T) {
	h := newHouse(t, 0)
	h.deposit(ann)
	if err := h.Await(t.Context(), ann, "", time.Minute); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range h.Fetch(t.Context(), ann, "") {
		n++
	}
	if n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestAwaitPassesTheStoresErrors(t *testing.T) {
	h := newHouse(t, 1)
	if err := h.Await(t.Context(), ann, "no id", time.Minute); !errors.Is(err, storage.ErrNotID) {
		t.Errorf("Await = %v, want %v", err, storage.ErrNotID)
	}
}

// No deposit may fall between a waiter's look and its wait.
func TestNoDepositIsMissed(t *testing.T) {
	h := newHouse(t, 4)
	after := ""
	for range 100 {
		done := make(chan error)
		go func() { done <- h.Await(t.Context(), ann, after, time.Minute) }()
		next := h.deposit(ann)[0]
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, err := h.Remove(t.Context(), ann, []string{next}); err != nil {
			t.Fatal(err)
		}
		after = next
	}
}

func TestACrowdIsNewsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1000)
		for n := 1; n <= 200; n++ {
			h.await(ann, "", time.Minute).leave()
			select {
			case <-h.Waiters.Crowds():
				if n%64 != 0 {
					t.Errorf("a crowd with the caller %d", n)
				}
			default:
				if n%64 == 0 {
					t.Errorf("no crowd with the caller %d", n)
				}
			}
		}
	})
}
