package ledger

import (
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"
)

// Room returns ErrFull if one more delivery could not be remembered. It is to be
// asked before a delivery is handed over. It alone forgets: what is eight days old
// at now, which must be no time that a clock may have jumped to.
func (l *Ledger) Room(now time.Time) error {
	if !l.full() && !l.due(now) {
		return nil
	}
	if err := l.sweep(now); err != nil {
		return err
	}
	if l.full() {
		return ErrFull
	}
	return nil
}

// Knows tells whether a delivery of this id, or one of this digest, was handed over.
func (l *Ledger) Knows(id string, digest [32]byte) (byID, byDigest bool, err error) {
	err = l.view(func(tx *bbolt.Tx) error {
		entries := tx.Bucket(entriesTree)
		byID = entries.Get(idKey(id)) != nil
		byDigest = entries.Get(digestKey(digest)) != nil
		return nil
	})
	return byID, byDigest, err
}

// Handed remembers a delivery that was handed over. Once it returns nil the entry
// survives a crash.
func (l *Ledger) Handed(id string, digest [32]byte, at time.Time) error {
	return l.change(func(entries *bbolt.Bucket) error {
		if err := l.put(entries, digestKey(digest), untilValue(at.Add(Keep))); err != nil {
			return err
		}
		return l.done(entries, id, at)
	})
}

// GaveUp remembers, by its id alone, a delivery that will not be tried again: the
// same request in another delivery will be.
func (l *Ledger) GaveUp(id string, at time.Time) error {
	return l.change(func(entries *bbolt.Bucket) error { return l.done(entries, id, at) })
}

func (l *Ledger) done(entries *bbolt.Bucket, id string, at time.Time) error {
	if err := l.remove(entries, triesKey(id)); err != nil {
		return err
	}
	return l.put(entries, idKey(id), untilValue(at.Add(Keep)))
}

// Failed counts a try that failed, and returns how many that makes. Once it returns
// nil the count survives a crash.
func (l *Ledger) Failed(id string, at time.Time) (tries int, err error) {
	err = l.change(func(entries *bbolt.Bucket) error {
		if kept := entries.Get(triesKey(id)); len(kept) == stamp+1 {
			tries = int(kept[stamp])
		}
		tries = min(tries+1, 255)
		return l.put(entries, triesKey(id), append(untilValue(at.Add(Keep)), byte(tries)))
	})
	return tries, err
}

// change writes entries, all or none.
func (l *Ledger) change(fn func(entries *bbolt.Bucket) error) error {
	before := l.bytes
	err := l.update(func(tx *bbolt.Tx) error { return fn(tx.Bucket(entriesTree)) })
	if err != nil {
		l.bytes = before
	}
	return err
}

func (l *Ledger) put(entries *bbolt.Bucket, key, value []byte) error {
	if err := l.remove(entries, key); err != nil {
		return err
	}
	l.bytes += int64(len(key) + len(value))
	return entries.Put(key, value)
}

func (l *Ledger) remove(entries *bbolt.Bucket, key []byte) error {
	if kept := entries.Get(key); kept != nil {
		l.bytes -= int64(len(key) + len(kept))
	}
	return entries.Delete(key)
}

// sweep forgets what is eight days old, and counts what stays.
func (l *Ledger) sweep(now time.Time) error {
	old, err := l.recount(now)
	if err != nil || len(old) == 0 {
		return err
	}
	return l.change(func(entries *bbolt.Bucket) error {
		for _, key := range old {
			if err := l.remove(entries, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// recount counts what is there, and returns the keys of what is old.
func (l *Ledger) recount(now time.Time) (old [][]byte, err error) {
	l.bytes, l.swept = 0, now
	err = l.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(entriesTree).ForEach(func(key, value []byte) error {
			l.bytes += int64(len(key) + len(value))
			if len(value) < stamp || int64(binary.BigEndian.Uint64(value)) <= now.UnixMilli() {
				old = append(old, append([]byte(nil), key...))
			}
			return nil
		})
	})
	return old, err
}
