package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/holdmail/holdmail/storage"
)

// holdsAfter fails the test unless what the recipient has after an id is exactly
// these bodies in this order.
func (b *bench) holdsAfter(recipient, after string, bodies ...string) {
	b.Helper()
	var got []string
	for _, l := range b.listAfter(recipient, after) {
		got = append(got, l.body)
	}
	if !slices.Equal(got, bodies) {
		b.Fatalf("after %s, %s has %q; want %q", after, recipient, got, bodies)
	}
}

// testAfter: an id's place counts, whether its message is there, removed, expired
// or shed.
func testAfter(t *testing.T, open Open) {
	b := open.open(t, nil)
	var ids []string
	for i := range 5 {
		ids = append(ids, b.deposit(fmt.Sprint(i), "ann")[0])
		b.deposit("between", "bob")
	}
	b.holdsAfter("ann", ids[1], "2", "3", "4")
	b.holdsAfter("ann", ids[4])
	b.remove(3, "ann", ids[1], ids[2], ids[4])
	b.holdsAfter("ann", ids[0], "3")
	b.holdsAfter("ann", ids[1], "3")
	b.holdsAfter("ann", ids[2], "3")
	b.holdsAfter("ann", ids[4])
	b.deposit("5", "ann")
	b.holdsAfter("ann", ids[4], "5")
	b.remove(1, "ann", ids[0])
	b.clock.Advance(time.Hour)
	b.holdsAfter("ann", ids[0])
	newest := b.deposit("6", "ann") // sheds the rest
	b.holdsAfter("ann", ids[0], "6")
	b.holdsAfter("ann", ids[3], "6")
	b.remove(1, "ann", newest...)
	b.holdsAfter("ann", newest[0]) // of a mailbox that is empty
	b.deposit("7", "ann")
	b.holdsAfter("ann", newest[0], "7")
}

// testForeignAfter: what is no id of the recipient's has no place.
func testForeignAfter(t *testing.T, open Open) {
	b := open.open(t, nil)
	anns, bobs := b.deposit("for ann", "ann"), b.deposit("for bob", "bob")
	for _, after := range []string{bobs[0], uuid.NewString(), "no id", anns[0] + " ", "{" + anns[0] + "}"} {
		var got error
		n := 0
		for _, got = range b.Mail.List(t.Context(), "ann", after) {
			n++
		}
		if n != 1 || !errors.Is(got, storage.ErrNotID) {
			t.Errorf("List after %q ends with %v in step %d; want %v in the first", after, got, n, storage.ErrNotID)
		}
	}
}

// testPages: page by page, nothing is skipped and nothing comes twice, while
// others arrive and what was read is removed.
func testPages(t *testing.T, open Open) {
	b := open.open(t, nil)
	const before, arriving = 20, 10
	for i := range before {
		b.deposit(fmt.Sprint(i), "ann")
	}
	var got []string
	after := ""
	for page := range before + arriving {
		if page < arriving {
			b.deposit(fmt.Sprint(before+page), "ann")
		}
		for m, err := range b.Mail.List(t.Context(), "ann", after) {
			if err != nil {
				t.Fatal(err)
			}
			got, after = append(got, b.read(m).body), m.ID
			break // a page of one
		}
		if page%3 == 0 {
			b.remove(1, "ann", after)
		}
	}
	for i, body := range got {
		if body != fmt.Sprint(i) {
			t.Fatalf("page %d is message %s", i, body)
		}
	}
	if len(got) != before+arriving {
		t.Errorf("%d pages; want %d", len(got), before+arriving)
	}
}
