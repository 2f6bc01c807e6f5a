package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

// Register replaces the registered addresses by hooks; once it returns nil that is
// on the disk. Deliveries of an address that is no longer registered stay. The same
// addresses again, in whatever order, write nothing.
func (h *Hooks) Register(ctx context.Context, hooks []storage.Hook) error {
	all := slices.Clone(hooks)
	slices.SortFunc(all, func(a, b storage.Hook) int { return bytes.Compare(a[:], b[:]) })
	all = slices.Compact(all)
	err := h.store.writer.do(ctx, &task{
		bytes: len(all) * len(storage.Hook{}),
		pages: pagesToRegister(len(all)),
		work:  func(t *txn) error { return t.hooks.register(all) },
	})
	if err != nil {
		return fmt.Errorf("registering addresses: %w", err)
	}
	return nil
}

// pagesToRegister foresees how many pages so many addresses take: bbolt adds half
// of its size to each, and a branch to every hundred leaves.
func pagesToRegister(addresses int) int64 {
	return int64(addresses)*2*int64(len(storage.Hook{}))/pageBytes + 8
}

// Registered returns the registered addresses, sorted.
func (h *Hooks) Registered(context.Context) (all []storage.Hook, err error) {
	err = h.store.view(func(tx *bbolt.Tx) error {
		all, err = registered(tx.Bucket(addressBucket))
		return err
	})
	return all, err
}
