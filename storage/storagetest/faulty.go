package storagetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdmail/holdmail/storage"
)

// ErrFault is what a FaultyMailbox fails with.
var ErrFault = errors.New("a fault that the test asked for")

// FaultyMailbox is a mailbox whose next writes fail, before anything happened or
// when all of it had happened and only the answer was lost.
type FaultyMailbox struct {
	MailboxStore

	mu     sync.Mutex // guards both below
	faults int
	kept   bool
}

// Fail lets the next n writes fail; kept says that they happen all the same.
func (f *FaultyMailbox) Fail(n int, kept bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.kept = n, kept
}

func (f *FaultyMailbox) fault() (fails, kept bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.faults == 0 {
		return false, true
	}
	f.faults--
	return true, f.kept
}

// Add keeps e unless it is to fail before the write.
func (f *FaultyMailbox) Add(ctx context.Context, e storage.Envelope) ([]string, error) {
	fails, kept := f.fault()
	if !kept {
		return nil, ErrFault
	}
	ids, err := f.MailboxStore.Add(ctx, e)
	if fails {
		return nil, ErrFault
	}
	return ids, err
}

// Remove removes unless it is to fail before the write.
func (f *FaultyMailbox) Remove(ctx context.Context, recipient string, ids []string) (int, error) {
	fails, kept := f.fault()
	if !kept {
		return 0, ErrFault
	}
	n, err := f.MailboxStore.Remove(ctx, recipient, ids)
	if fails {
		return 0, ErrFault
	}
	return n, err
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
