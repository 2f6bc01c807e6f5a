package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestNobodyReachesAnothersMail(t *testing.T) {
	r := startRelay(t)
	ann, bob := newWallet(t), newWallet(t)
	packed := envelope(800, "for both", ann, bob)
	ids, err := r.deposit(packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ids  []string
		want int
	}{
		{[]string{}, 0},
		{[]string{ids[1]}, 0}, // bob's
		{[]string{"unknown", "", strings.Repeat("x", 1<<16)}, 0},
		{[]string{ids[0], ids[0], ids[1], "unknown"}, 1},
		{[]string{ids[0]}, 0}, // gone
	} {
		p := prove(t, r, ann)
		p["ids"] = tt.ids
		wantJSON(t, r.present(t, "remove", p), fmt.Sprintf(`{"removed":%d}`, tt.want))
	}
	wantMail(t, r, ann)
	wantMail(t, r, bob, string(packed))
}

func TestReceivedIsUTCWithMilliseconds(t *testing.T) {
	r := startRelay(t)
	w := newWallet(t)
	before := time.Now().Truncate(time.Millisecond)
	if _, err := r.deposit(envelope(600, "when", w)); err != nil {
		t.Fatal(err)
	}
	var fetched struct{ Messages []map[string]string }
	decode(t, r.present(t, "fetch", prove(t, r, w)), &fetched)
	if len(fetched.Messages) != 1 || len(fetched.Messages[0]) != 3 {
		t.Fatalf("fetched %v, want one message of id, message and received", fetched.Messages)
	}
	received, err := time.Parse("2006-01-02T15:04:05.000Z", fetched.Messages[0]["received"])
	if err != nil || received.Before(before) || received.After(time.Now()) {
		t.Errorf("received %q (%v), want now with milliseconds and Z", fetched.Messages[0]["received"], err)
	}
}

// wantMail fails the test unless exactly these messages wait for w, oldest first.
func wantMail(t testing.TB, r *relay, w wallet, want ...string) {
	t.Helper()
	got, err := r.fetch(w)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d messages wait, want %d", len(got), len(want))
	}
	for i, m := range got {
		if m.Message != want[i] {
			t.Errorf("message %d:\n got %q\nwant %q", i, m.Message, want[i])
		}
	}
}

func TestIdsComeInTheOrderTheRecipientsWereNamed(t *testing.T) {
	r := startRelay(t)
	wallets := []wallet{newWallet(t), newWallet(t), newWallet(t)}
	packed := envelope(2000, "order", wallets[2], wallets[0], wallets[2], wallets[1], wallets[0])
	ids, err := r.deposit(packed)
	if err != nil || len(ids) != 3 {
		t.Fatalf("filed under %q (%v), want three ids", ids, err)
	}
	for i, w := range []wallet{wallets[2], wallets[0], wallets[1]} {
		got, err := r.fetch(w)
		if err != nil || len(got) != 1 || got[0].ID != ids[i] || got[0].Message != string(packed) {
			t.Errorf("recipient %d: fetched %+v (%v), want the envelope as %s", i, got, err, ids[i])
		}
	}
}

func TestMailIsFetchedOldestFirst(t *testing.T) {
	r := startRelay(t)
	w := newWallet(t)
	var want []string
	for i := range 12 {
		packed := envelope(600, fmt.Sprint(i), w)
		if _, err := r.deposit(packed); err != nil {
			t.Fatal(err)
		}
		want = append(want, string(packed))
	}
	wantMail(t, r, w, want...)
}
