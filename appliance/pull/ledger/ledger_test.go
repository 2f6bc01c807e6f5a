package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/holdmail/holdmail/appliance/pull/ledger"
)

func start() time.Time { return time.UnixMilli(1760000000000) }

// open opens a ledger that has forgotten what is old at now.
func open(t testing.TB, path string, now time.Time) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	check(t, l.Room(now))
	return l
}

func knows(t testing.TB, l *ledger.Ledger, id string, digest byte) (byID, byDigest bool) {
	t.Helper()
	byID, byDigest, err := l.Knows(id, [32]byte{digest})
	if err != nil {
		t.Fatal(err)
	}
	return byID, byDigest
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRemembersAcrossRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, start())
	check(t, l.Handed("a", [32]byte{1}, start()))
	check(t, l.GaveUp("b", start()))
	check(t, l.Close())

	l = open(t, path, start().Add(ledger.Keep-time.Millisecond))
	if byID, byDigest := knows(t, l, "a", 1); !byID || !byDigest {
		t.Errorf("handed over: by id %v, by digest %v; want both", byID, byDigest)
	}
	if byID, byDigest := knows(t, l, "b", 2); !byID || byDigest {
		t.Errorf("given up: by id %v, by digest %v; want by id alone", byID, byDigest)
	}
	if byID, byDigest := knows(t, l, "c", 1); byID || !byDigest {
		t.Errorf("the same request again: by id %v, by digest %v; want by digest alone", byID, byDigest)
	}
	check(t, l.Close())

	l = open(t, path, start().Add(ledger.Keep))
	if byID, byDigest := knows(t, l, "a", 1); byID || byDigest {
		t.Errorf("after eight days: by id %v, by digest %v; want neither", byID, byDigest)
	}
	if taken, _ := l.Bytes(); taken != 0 {
		t.Errorf("%d bytes are taken after eight days, want 0", taken)
	}
}

// Who opens it may not know yet what time it is.
func TestOpeningForgetsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, start())
	check(t, l.Handed("a", [32]byte{1}, start().Add(-10*ledger.Keep)))
	check(t, l.Close())
	l, err := ledger.Open(path, 1<<20)
	check(t, err)
	defer l.Close()
	if byID, byDigest := knows(t, l, "a", 1); !byID || !byDigest {
		t.Errorf("handed over long ago: by id %v, by digest %v; want both, until Room is asked", byID, byDigest)
	}
}

func TestCountsTriesAcrossRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for want := 1; want <= 3; want++ {
		l := open(t, path, start())
		if got, err := l.Failed("a", start()); err != nil || got != want {
			t.Errorf("Failed = %d, %v; want %d", got, err, want)
		}
		check(t, l.Close())
	}
	l := open(t, path, start())
	if byID, _ := knows(t, l, "a", 1); byID {
		t.Error("a failed try counts as handed over")
	}
	check(t, l.Handed("a", [32]byte{1}, start()))
	if got, err := l.Failed("a", start()); err != nil || got != 1 {
		t.Errorf("Failed after it was handed over = %d, %v; want 1", got, err)
	}
}

func TestFullForgetsNothingUntilItIsOld(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger.db"), 2000)
	check(t, err)
	defer l.Close()
	handed := 0
	for ; l.Room(start()) == nil; handed++ {
		check(t, l.Handed(fmt.Sprintf("%064d", handed), [32]byte{byte(handed)}, start()))
		if taken, most := l.Bytes(); taken > most {
			t.Fatalf("%d bytes are taken, more than %d", taken, most)
		}
	}
	if handed < 5 {
		t.Fatalf("full after %d deliveries", handed)
	}
	if err := l.Room(start().Add(ledger.Keep - time.Millisecond)); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("Room a moment before eight days: %v, want ErrFull", err)
	}
	for i := range handed {
		if byID, byDigest := knows(t, l, fmt.Sprintf("%064d", i), byte(i)); !byID || !byDigest {
			t.Errorf("delivery %d is forgotten", i)
		}
	}
	if err := l.Room(start().Add(ledger.Keep)); err != nil {
		t.Errorf("Room after eight days: %v, want nil", err)
	}
}

func TestBytesAreExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, start())
	for _, id := range []string{"a", "b", "a"} {
		_, err := l.Failed(id, start())
		check(t, err)
		check(t, l.Handed(id, [32]byte{1}, start()))
	}
	check(t, l.GaveUp("c", start()))
	want, _ := l.Bytes()
	check(t, l.Close())
	if got, _ := open(t, path, start()).Bytes(); got != want {
		t.Errorf("%d bytes after a recount, want the %d that were counted", got, want)
	}
}

func TestRefusesWhatIsNoLedger(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	check(t, os.WriteFile(text, []byte(strings.Repeat("not a ledger ", 4096)), 0o600))
	foreign := filepath.Join(folder, "foreign")
	db, err := bbolt.Open(foreign, 0o600, nil)
	check(t, err)
	check(t, db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err }))
	check(t, db.Close())
	busy := filepath.Join(folder, "busy")
	open(t, busy, start())

	for path, want := range map[string]string{
		text: "not a ledger, or damaged", foreign: "another program", busy: "another holdmail pull",
		filepath.Join(folder, "nowhere", "l"): "no such file",
	} {
		before, _ := os.ReadFile(path)
		if _, err := ledger.Open(path, 1<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): %v, want an error with %q", filepath.Base(path), err, want)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s was changed", filepath.Base(path))
		}
	}
}

// A page of entries is overwritten: whatever is asked then, the answer is an error
// and not a crash, nor an empty ledger.
func TestDamageIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, start())
	for i := range 200 {
		check(t, l.Handed(fmt.Sprintf("%064d", i), [32]byte{byte(i), 1}, start()))
	}
	check(t, l.Close())
	b, err := os.ReadFile(path)
	check(t, err)
	for i := 2 * 4096; i < len(b); i++ { // all but the two meta pages
		b[i] = 0xff
	}
	check(t, os.WriteFile(path, b, 0o600))
	if l, err := ledger.Open(path, 1<<20); err == nil {
		l.Close()
		t.Error("a damaged ledger opens")
	}
}
