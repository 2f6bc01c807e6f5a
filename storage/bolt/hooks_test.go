package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// A file that never saw a webhook has no page for them.
func TestNoPagesWithoutHooks(t *testing.T) {
	s := mustOpen(t, aStore(t, true), smallOptions())
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{hooksBucket, addressBucket} {
			b := tx.Bucket(name).Stats()
			if pages := b.BranchPageN + b.LeafPageN + b.BranchOverflowN + b.LeafOverflowN; pages != 0 || b.InlineBucketN != 1 {
				t.Errorf("the tree %q has %d pages", name, pages)
			}
		}
		if tx.Bucket(headBucket).Get(hookTotalsKey) != nil {
			t.Error("there are totals of deliveries")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The same addresses in another order write nothing, nor does what is gone already.
func TestNothingToWrite(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	a, b := storage.Hook(ownerOf("a")), storage.Hook(ownerOf("b"))
	if err := s.Hooks().Register(t.Context(), []storage.Hook{a, b}); err != nil {
		t.Fatal(err)
	}
	id := s.mustDeliver(t, []byte("one"), "a")
	if n, err := s.Hooks().Remove(t.Context(), []string{id}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	before := transaction(t, s.db)
	if err := s.Hooks().Register(t.Context(), []storage.Hook{b, a, b}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Hooks().Remove(t.Context(), []string{id, "no id"}); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, _, err := s.Hooks().Reserve(); err != nil {
		t.Fatal(err)
	}
	if n := transaction(t, s.db) - before; n != 0 {
		t.Errorf("%d commits of nothing", n)
	}
}

// Deliveries come and go without the file growing: removal gives all pages back.
func TestDeliveriesLeaveNothing(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	for round := range 50 {
		var ids []string
		for i := range 20 {
			ids = append(ids, s.mustDeliver(t, make([]byte, 200+5000*(i%3)+100_000*(i%7)/6), fmt.Sprint("hook ", round, i)))
		}
		if n, err := s.Hooks().Remove(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatal(n, err)
		}
	}
	err := s.db.View(func(tx *bbolt.Tx) error {
		if n := tx.Bucket(hooksBucket).Stats().KeyN; n != 0 {
			t.Errorf("%d keys are left", n)
		}
		return nil
	})
	if size := s.writer.room.size.Load(); size > 8<<20 || err != nil {
		t.Errorf("the file grew to %d bytes, %v", size, err)
	}
}

// One delivery that fails does not fail those in its batch, nor the mail.
func TestDeliveryFailsAlone(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	var same ids.Delivery
	tasks := make([]*task, 6)
	for i := range tasks {
		id := s.deliveries.Next()
		if i == 1 {
			same = id
		}
		if i == 3 {
			id = same
		}
		tasks[i] = &task{ctx: t.Context(), turn: make(chan turn, 1), work: func(x *txn) error {
			if i%2 == 0 {
				_, err := x.file([]owner{ownerOf("ann")}, fmt.Append(nil, "message ", i))
				return err
			}
			return x.hooks.keep(id, ownerOf("hook"), versionOneTime(), fmt.Append(nil, "delivery ", i))
		}}
	}
	s.writer.settle(append([]*task(nil), tasks...), s.writer.refuse)
	for i, task := range tasks {
		if err := (<-task.turn).err; errors.Is(err, errKept) != (i == 3) || (i != 3 && err != nil) {
			t.Errorf("task %d: %v", i, err)
		}
	}
	mail, errMail := s.Recount(t.Context())
	held, errHooks := s.Hooks().Recount(t.Context())
	if mail.Messages != 3 || held.Deliveries != 2 || errMail != nil || errHooks != nil {
		t.Errorf("the store holds %+v and %+v; %v, %v", mail, held, errMail, errHooks)
	}
}

// A delivery may be as large as the caps allow.
func TestLargeDelivery(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
	sealed := make([]byte, 33<<20)
	for i := range sealed {
		sealed[i] = byte(i >> 10)
	}
	id := s.mustDeliver(t, sealed, "hook")
	if got, err := s.Hooks().Sealed(t.Context(), id); err != nil || !bytes.Equal(got, sealed) {
		t.Errorf("%d bytes came back of %d, or others: %v", len(got), len(sealed), err)
	}
	if n, err := s.Hooks().Remove(t.Context(), []string{id}); n != 1 || err != nil {
		t.Errorf("Remove = %d, %v", n, err)
	}
}

// A failed write leaves its outcome unknown: nothing more is written, and what is
// there can be read.
func TestFailedDelivery(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	s := mustOpen(t, path, smallOptions())
	id := s.mustDeliver(t, []byte("kept"), "hook")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := smallOptions()
	o.openFile = func(path string, _ int, mode os.FileMode) (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY, mode) // each write through it fails
	}
	s = mustOpen(t, path, o)
	if _, err := s.deliver(t, []byte("lost"), "hook"); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Add on a failing disk: %v; want %v", err, storage.ErrBroken)
	}
	if _, err := s.Hooks().Remove(t.Context(), []string{id}); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Remove on a failing disk: %v; want %v", err, storage.ErrBroken)
	}
	if err := s.Hooks().Register(t.Context(), []storage.Hook{{1}}); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("Register on a failing disk: %v; want %v", err, storage.ErrBroken)
	}
	if sealed, err := s.Hooks().Sealed(t.Context(), id); string(sealed) != "kept" || err != nil {
		t.Errorf("Sealed = %q, %v", sealed, err)
	}
	var listed []string
	for k, err := range s.Hooks().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, k.ID)
	}
	if len(listed) != 1 || listed[0] != id {
		t.Errorf("%v are listed; want %s", listed, id)
	}
}

// A recount notices whatever is not as it was written.
func TestRecountOfDamagedHooks(t *testing.T) {
	inTree := func(fn func(*bbolt.Bucket, ids.Delivery) error) func(*bbolt.Tx, ids.Delivery) error {
		return func(tx *bbolt.Tx, id ids.Delivery) error { return fn(tx.Bucket(hooksBucket), id) }
	}
	for _, tt := range []struct {
		name   string
		damage func(*bbolt.Tx, ids.Delivery) error
	}{
		{"no totals of all", func(tx *bbolt.Tx, _ ids.Delivery) error { return tx.Bucket(headBucket).Delete(hookTotalsKey) }},
		{"an address that is none", func(tx *bbolt.Tx, _ ids.Delivery) error { return tx.Bucket(addressBucket).Put([]byte("x"), nil) }},
		{"no totals of an address", inTree(func(b *bbolt.Bucket, _ ids.Delivery) error { return b.Delete(addressKey(ownerOf("hook"))) })},
		{"totals of another", inTree(func(b *bbolt.Bucket, _ ids.Delivery) error {
			return b.Put(addressKey(ownerOf("other")), encodeTotals(storage.Totals{Bytes: 1, Messages: 1}))
		})},
		{"no record", inTree(func(b *bbolt.Bucket, id ids.Delivery) error { return b.Delete(id[:]) })},
		{"a short record", inTree(func(b *bbolt.Bucket, id ids.Delivery) error { return b.Put(id[:], []byte("short")) })},
		{"no bytes", inTree(func(b *bbolt.Bucket, id ids.Delivery) error { return b.DeleteBucket(apartKey(id)) })},
		{"a piece less", inTree(func(b *bbolt.Bucket, id ids.Delivery) error { return b.Bucket(apartKey(id)).Delete(pieceKey(0)) })},
		{"the end less", inTree(func(b *bbolt.Bucket, id ids.Delivery) error { return b.Bucket(apartKey(id)).Delete(pieceKey(3)) })},
		{"an id from the future", inTree(func(b *bbolt.Bucket, _ ids.Delivery) error { return b.SetSequence(0) })},
		{"a key of another length", inTree(func(b *bbolt.Bucket, _ ids.Delivery) error { return b.Put([]byte("short"), []byte("x")) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), "holdmail.db"), smallOptions())
			text := s.mustDeliver(t, make([]byte, 100_000), "hook")
			id, _ := ids.ParseDelivery(text)
			if _, err := s.Recount(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.db.Update(func(tx *bbolt.Tx) error { return tt.damage(tx, id) }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recount(t.Context()); !errors.Is(err, errDamaged) {
				t.Errorf("Store.Recount: %v; want %v", err, errDamaged)
			}
			if _, err := s.Hooks().Recount(t.Context()); !errors.Is(err, errDamaged) {
				t.Errorf("Hooks.Recount: %v; want %v", err, errDamaged)
			}
		})
	}
}

// Whatever page of deliveries is overwritten, the file is refused, or reading and
// writing end in an error; never a panic, and nothing is cut short.
func TestDamagedPagesOfHooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdmail.db")
	s := mustOpen(t, path, smallOptions())
	want := map[string][]byte{}
	for i := range 40 {
		sealed := bytes.Repeat([]byte{byte('a' + i%26)}, 1+150*i)
		want[s.mustDeliver(t, sealed, fmt.Sprint("hook ", i%5))] = sealed
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad, refused := path+"-bad", 0
	for page := 2; page < 60; page++ {
		damaged := bytes.Clone(raw)
		copy(damaged[page*pageBytes:], make([]byte, pageBytes))
		if err := os.WriteFile(bad, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(bad, smallOptions())
		if err != nil {
			refused++
			continue
		}
		for k, err := range s.Hooks().List(t.Context(), "") {
			if err != nil {
				break
			}
			sealed, err := s.Hooks().Sealed(t.Context(), k.ID)
			if err == nil && len(sealed) != len(want[k.ID]) {
				t.Errorf("page %d: a delivery of %d bytes reads back with %d", page, len(want[k.ID]), len(sealed))
			}
		}
		s.deliver(t, []byte("new"), "hook 1") // as the damage lets it
		s.Close()
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}
