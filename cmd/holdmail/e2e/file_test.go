package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"github.com/holdmail/holdmail/storage/bolt"
	"github.com/holdmail/holdmail/storage/clock"
	"go.etcd.io/bbolt"
)

// checkFile reads the file of a relay that is not running: bbolt finds no fault
// in it, and a full recount equals the totals kept in it and the ledger.
func checkFile(t testing.TB, r *relay, l *ledger) {
	t.Helper()
	said := checkRecount(t, r)
	if want := l.totals(); said != want {
		t.Errorf("the file says %+v, its clients %+v", said, want)
	}
}

// checkRecount is checkFile without a ledger. It returns the totals.
func checkRecount(t testing.TB, r *relay) (said storage.Totals) {
	t.Helper()
	store := openFile(t, r)
	defer store.Close()
	said, err := store.Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := store.Recount(t.Context())
	if err != nil || counted != said {
		t.Errorf("the file says %+v, a recount says %+v, %v", said, counted, err)
	}
	checkDeliveries(t, store)
	return said
}

// checkDeliveries is the same of the webhook deliveries in the file.
func checkDeliveries(t testing.TB, store *bolt.Store) {
	t.Helper()
	said, err := store.Hooks().Totals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := store.Hooks().Recount(t.Context())
	if err != nil || counted != said {
		t.Errorf("the file says %+v, a recount says %+v, %v", said, counted, err)
	}
}

// openFile opens the file of a relay that is not running, in which bbolt finds no
// fault.
func openFile(t testing.TB, r *relay) *bolt.Store {
	t.Helper()
	checkPages(t, r)
	store, err := bolt.Open(filepath.Join(r.Dir, "holdmail.db"), bolt.Options{Options: storage.Options{
		Caps:         storage.Caps{RecipientBytes: 16 << 20, TotalBytes: 256 << 20, RecipientMessages: 10_000, TotalMessages: 500_000, Challenges: 10_000},
		MessageTTL:   7 * 24 * time.Hour,
		ChallengeTTL: 5 * time.Minute,
		Clock:        clock.System{},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// checkPages runs bbolt's own check over the file of a relay that is not running.
func checkPages(t testing.TB, r *relay) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(r.Dir, "holdmail.db"), 0, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for fault := range tx.Check() {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
