package storagetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// ErrFault is what a FaultyMailbox and FaultyHooks fail with.
var ErrFault = errors.New("a fault that the test asked for")

// Faults are those that a test asks for.
type Faults struct {
	mu   sync.Mutex // guards both below
	left int
	kept bool
}

// Fail lets the next n writes fail; kept says that they happen all the same.
func (f *Faults) Fail(n int, kept bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.kept = n, kept
}

// fault reports whether a write is to fail, and whether it is to happen.
func (f *Faults) fault() (fails, kept bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return false, true
	}
	f.left--
	return true, f.kept
}

// write does what fn does, unless it is to fail before.
func (f *Faults) write(fn func() error) error {
	fails, kept := f.fault()
	if !kept {
		return ErrFault
	}
	if err := fn(); err != nil || !fails {
		return err
	}
	return ErrFault
}

// FaultyMailbox is a mailbox whose next writes fail, before anything happened or
// when all of it had happened and only the answer was lost.
type FaultyMailbox struct {
	MailboxStore
	Faults
}

// Add keeps e unless it is to fail before the write.
func (f *FaultyMailbox) Add(ctx context.Context, e storage.Envelope) (ids []string, err error) {
	err = f.write(func() (err error) {
		ids, err = f.MailboxStore.Add(ctx, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Remove removes unless it is to fail before the write.
func (f *FaultyMailbox) Remove(ctx context.Context, recipient string, ids []string) (removed int, err error) {
	err = f.write(func() (err error) {
		removed, err = f.MailboxStore.Remove(ctx, recipient, ids)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// testFaults writes down what a caller who tries again may rely on: a deposit is
// there at least once, a removal is done.
func testFaults(t *testing.T, open Open) {
	for _, tt := range []struct {
		name    string
		kept    bool
		copies  int // of a deposit that was made twice
		removed int // what the second removal reports
	}{
		{"the write failed", false, 1, 1},
		{"only the answer was lost", true, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := open.open(t, nil)
			faulty := &FaultyMailbox{MailboxStore: b.Mail}
			b.Mail = faulty
			faulty.Fail(1, tt.kept)
			if _, err := b.add("one", "ann"); !errors.Is(err, ErrFault) {
				t.Fatalf("Add = %v; want %v", err, ErrFault)
			}
			b.deposit("one", "ann")
			letters := b.list("ann")
			if len(letters) != tt.copies {
				t.Fatalf("%d copies after a second try; want %d", len(letters), tt.copies)
			}
			first := []string{letters[0].id}
			faulty.Fail(1, tt.kept)
			if n, err := b.Mail.Remove(t.Context(), "ann", first); n != 0 || !errors.Is(err, ErrFault) {
				t.Fatalf("Remove = %d, %v; want %v", n, err, ErrFault)
			}
			b.remove(tt.removed, "ann", first...)
			b.wantTotals(3*int64(tt.copies-1), int64(tt.copies-1))
		})
	}
}
