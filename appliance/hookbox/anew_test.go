package hookbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/hookbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/clock"
	"github.com/holdmail/holdmail/storage/memory"
)

// unsealed is a Sealer for those who do not look inside.
type unsealed struct{}

func (unsealed) Seal(_ string, _ time.Time, plaintext []byte) ([]byte, error) { return plaintext, nil }

// A home computer that was killed with deliveries on lease registers when it comes
// back, and is handed them first, before what came later.
func TestWhoRegistersBeginsAnew(t *testing.T) {
	store := memory.New(storage.Options{
		Hooks:   storage.HookCaps{Deliveries: 10, Bytes: 1 << 20, HookDeliveries: 10, HookBytes: 1 << 20},
		HookTTL: time.Hour, Clock: clock.System{},
	})
	defer store.Close()
	box, err := hookbox.Open(t.Context(), hookbox.Options{Store: store.Hooks(), Sealer: unsealed{}, MaxLive: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer box.End()
	deliver := func() {
		t.Helper()
		if _, err := box.Deliver(t.Context(), storage.Hook{1}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	next := func() (ids []string, attempts []int) {
		t.Helper()
		batch, err := box.Next(t.Context(), hookbox.Ask{Most: hookbox.MaxBatch})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range batch {
			ids, attempts = append(ids, one.ID), append(attempts, one.Attempt)
		}
		return ids, attempts
	}

	deliver()
	deliver()
	before, _ := next()
	deliver()
	if err := box.Register(t.Context(), []hookbox.Address{{Hook: storage.Hook{1}}}); err != nil {
		t.Fatal(err)
	}
	ids, attempts := next()
	if len(before) != 2 || len(ids) != 3 || !slices.Equal(ids[:2], before) || !slices.Equal(attempts, []int{2, 2, 1}) {
		t.Errorf("handed out %v, then %v in attempts %v; want the same two again, and the third", before, ids, attempts)
	}
}
