package flight_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/flight"
)

func TestAwaitWaitsForWhatOthersGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := flight.NewBudget(100, 100)
		first, second := begin(b, "a"), begin(b, "b")
		first.check(t, 60, nil)
		done := make(chan error, 1)
		go func() { done <- second.Await(t.Context(), 50) }()
		synctest.Wait()
		began := time.Now()
		first.Drop(10)
		if err := <-done; err != nil || time.Since(began) != 0 {
			t.Errorf("Await = %v after %v, want nil at once", err, time.Since(began))
		}
		second.check(t, 1, flight.ErrBusy)
	})
}

func TestAwaitEndsWithItsContextOrWhenASlowLoadMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := flight.NewBudget(100, 100)
		slow, next := begin(b, "a"), begin(b, "b")
		slow.check(t, 60, nil)
		ctx, cancel := context.WithTimeout(t.Context(), flight.Grace/2)
		defer cancel()
		if err := next.Await(ctx, 50); !errors.Is(err, flight.ErrBusy) {
			t.Errorf("Await = %v, want %v", err, flight.ErrBusy)
		}
		young := begin(b, "c")
		if err := young.Await(t.Context(), 50); err != nil || !slow.ended {
			t.Errorf("Await = %v, the slow load ended: %v", err, slow.ended)
		}
	})
}
