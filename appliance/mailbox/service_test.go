package mailbox_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/storagetest"
)

// What the mailbox asks of a store is what the engines' suites drive.
var _ mailbox.Store = storagetest.MailboxStore(nil)

// ledger is a store that writes down what it is asked.
type ledger struct {
	added   []storage.Envelope
	listed  string
	after   string
	removed []string
	err     error
}

func (l *ledger) Add(_ context.Context, e storage.Envelope) ([]string, error) {
	if l.err != nil {
		return nil, l.err
	}
	l.added = append(l.added, e)
	return e.Recipients, nil
}

func (l *ledger) List(_ context.Context, recipient, after string) iter.Seq2[storage.Message, error] {
	l.listed, l.after = recipient, after
	return func(yield func(storage.Message, error) bool) {
		_ = yield(storage.Message{ID: "1"}, nil) && yield(storage.Message{}, l.err)
	}
}

func (l *ledger) Remove(_ context.Context, recipient string, ids []string) (int, error) {
	l.removed = append([]string{recipient}, ids...)
	return len(ids), l.err
}

func (l *ledger) Ready(context.Context) error { return l.err }

func TestDepositFilesTheBytesAsTheyAreForEveryRecipient(t *testing.T) {
	l := &ledger{}
	s := &mailbox.Service{Store: l, MaxRecipients: 2}
	packed := " " + general("did:cid:ann#k1", "did:cid:bob#k1") + "\n"
	ids, err := s.Deposit(t.Context(), []byte(packed))
	want := []string{"did:cid:ann", "did:cid:bob"}
	if err != nil || !slices.Equal(ids, want) {
		t.Fatalf("Deposit = %v, %v", ids, err)
	}
	if len(l.added) != 1 || !slices.Equal(l.added[0].Recipients, want) || string(l.added[0].Body) != packed {
		t.Errorf("the store got %+v", l.added)
	}
}

func TestDepositRefusesWhatCannotBeFiled(t *testing.T) {
	l := &ledger{}
	s := &mailbox.Service{Store: l, MaxRecipients: 2}
	for _, packed := range []string{`{}`, general(manyKids(3)...)} {
		if _, err := s.Deposit(t.Context(), []byte(packed)); !errors.Is(err, mailbox.ErrNotEnvelope) {
			t.Errorf("Deposit(%s) = %v", packed, err)
		}
	}
	if len(l.added) != 0 {
		t.Errorf("the store got %+v", l.added)
	}
}

func TestTheStoresErrorsPass(t *testing.T) {
	s := &mailbox.Service{Store: &ledger{err: storage.ErrFull}, MaxRecipients: 2}
	if _, err := s.Deposit(t.Context(), []byte(general("did:cid:ann#k1"))); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Deposit = %v", err)
	}
	if _, err := s.Remove(t.Context(), "did:cid:ann", nil); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Remove = %v", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrFull) {
		t.Errorf("Ready = %v", err)
	}
	var last error
	for _, last = range s.Fetch(t.Context(), "did:cid:ann", "0") {
	}
	if !errors.Is(last, storage.ErrFull) {
		t.Errorf("Fetch ended with %v", last)
	}
}

func TestAnOwnerReachesTheMailboxOfThatName(t *testing.T) {
	l := &ledger{}
	s := &mailbox.Service{Store: l, MaxRecipients: 2}
	for range s.Fetch(t.Context(), "did:cid:ann", "0") {
	}
	removed, err := s.Remove(t.Context(), "did:cid:ann", []string{"1", "2"})
	if l.listed != "did:cid:ann" || l.after != "0" || removed != 2 || err != nil || !slices.Equal(l.removed, []string{"did:cid:ann", "1", "2"}) {
		t.Errorf("listed %q after %q, Remove = %d, %v of %q", l.listed, l.after, removed, err, l.removed)
	}
}

func TestWhatIsPassedOnIsCheckedAndChargedOnceAndNotKept(t *testing.T) {
	l, charged := &ledger{}, []int64{}
	refusal := error(nil)
	s := &mailbox.Service{Store: l, MaxRecipients: 2, Charge: func(_ context.Context, bytes int64) error {
		charged = append(charged, bytes)
		return refusal
	}}
	packed := []byte(general("did:cid:ann#k1", "did:cid:bob#k1"))
	if err := s.PassOn(t.Context(), packed); err != nil {
		t.Error(err)
	}
	if err := s.PassOn(t.Context(), []byte("{}")); !errors.Is(err, mailbox.ErrNotEnvelope) {
		t.Errorf("PassOn of no envelope = %v", err)
	}
	if !slices.Equal(charged, []int64{int64(len(packed))}) || len(l.added) != 0 {
		t.Errorf("charged %d for %d bytes, the store got %+v", charged, len(packed), l.added)
	}
	refusal = errors.New("over budget")
	if err := s.PassOn(t.Context(), packed); !errors.Is(err, refusal) {
		t.Errorf("PassOn over the budget = %v", err)
	}
}
