package storagetest

import (
	"context"
	"errors"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// FaultyHooks keeps deliveries like FaultyMailbox mail: its next writes fail, before
// anything happened or when only the answer was lost.
type FaultyHooks struct {
	HookStore
	Faults
}

// Add keeps d unless it is to fail before the write.
func (f *FaultyHooks) Add(ctx context.Context, d storage.Delivery) error {
	return f.write(func() error { return f.HookStore.Add(ctx, d) })
}

// Remove removes unless it is to fail before the write.
func (f *FaultyHooks) Remove(ctx context.Context, ids []string) (removed int, err error) {
	err = f.write(func() (err error) {
		removed, err = f.HookStore.Remove(ctx, ids)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Register registers unless it is to fail before the write.
func (f *FaultyHooks) Register(ctx context.Context, hooks []storage.Hook) error {
	return f.write(func() error { return f.HookStore.Register(ctx, hooks) })
}

// testHookFaults writes down what a sender who tries again may rely on: a delivery is
// there at least once, an acknowledgement is done.
func testHookFaults(t *testing.T, open Open) {
	for _, tt := range []struct {
		name    string
		kept    bool
		copies  int // of a delivery that was made twice
		removed int // what the second acknowledgement reports
	}{
		{"the write failed", false, 1, 1},
		{"only the answer was lost", true, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := open.open(t, nil)
			faulty := &FaultyHooks{HookStore: b.Hooks}
			b.Hooks = faulty
			faulty.Fail(1, tt.kept)
			if err := b.Hooks.Add(t.Context(), b.reserve("one", "a")); !errors.Is(err, ErrFault) {
				t.Fatalf("Add = %v; want %v", err, ErrFault)
			}
			b.deliver("one", "a")
			all := b.parcels("")
			if len(all) != tt.copies {
				t.Fatalf("%d copies after a second try; want %d", len(all), tt.copies)
			}
			faulty.Fail(1, tt.kept)
			if n, err := b.Hooks.Remove(t.Context(), []string{all[0].id}); n != 0 || !errors.Is(err, ErrFault) {
				t.Fatalf("Remove = %d, %v; want %v", n, err, ErrFault)
			}
			b.acknowledge(tt.removed, all[0].id)
			b.wantHookTotals(int64(tt.copies-1), 3*int64(tt.copies-1))
			faulty.Fail(1, tt.kept)
			if err := b.Hooks.Register(t.Context(), []storage.Hook{address("a")}); !errors.Is(err, ErrFault) {
				t.Fatalf("Register = %v; want %v", err, ErrFault)
			}
			b.register("a")
			b.wantRegistered("a")
		})
	}
}
