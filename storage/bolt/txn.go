package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/storage"
	"go.etcd.io/bbolt"
)

// logFill packs the log's pages: it grows at its end only.
const logFill = 0.95

// txn is one write transaction in the mailbox's words. It is used by the writer
// alone; every change to mail goes through it, so that totals cannot drift.
type txn struct {
	head, log, mail *bbolt.Bucket
	hooks           *hookTxn
	caps            storage.Caps
	ttl             time.Duration
	lived           time.Duration // the store's age
	stamp           time.Time     // wall-clock time for what is filed
	held            storage.Totals
	changed         bool // some mail is
}

func newTxn(tx *bbolt.Tx, s *Store) (*txn, error) {
	t := &txn{
		head: tx.Bucket(headBucket),
		log:  tx.Bucket(logBucket),
		mail: tx.Bucket(mailBucket),
		caps: s.opts.Caps,
		ttl:  s.opts.MessageTTL,
	}
	t.log.FillPercent = logFill
	t.lived, t.stamp = s.life.now()
	var err, errHooks error
	t.held, err = decodeTotals(t.head.Get(totalsKey))
	t.hooks, errHooks = newHookTxn(tx, s.opts, t.lived)
	return t, errors.Join(err, errHooks)
}

// dirty reports whether there is something to commit.
func (t *txn) dirty() bool { return t.changed || t.hooks.changed }

// sweepAll sheds the oldest mail and the oldest deliveries that have expired, until
// so many are gone, and returns how many went.
func (t *txn) sweepAll(enough int) (shed int, err error) {
	if shed, err = t.sweep(enough); err != nil {
		return shed, err
	}
	some, err := t.hooks.sweep(enough - shed)
	return shed + some, err
}

// finish puts what every commit carries.
func (t *txn) finish(l *life) error {
	if err := t.head.Put(totalsKey, encodeTotals(t.held)); err != nil {
		return err
	}
	if t.hooks.changed {
		if err := t.head.Put(hookTotalsKey, encodeTotals(t.hooks.held)); err != nil {
			return err
		}
	}
	return t.head.Put(clockKey, l.keep())
}

func (t *txn) expired(r record) bool { return r.expired(t.lived, t.ttl) }

// file keeps body for all owners or for none.
func (t *txn) file(owners []owner, body []byte) (sequence, error) {
	size := int64(len(body))
	if err := t.fit(owners, size); err != nil {
		return 0, err
	}
	n, err := t.log.NextSequence()
	if err != nil {
		return 0, err
	}
	q := sequence(n)
	if q >= lastSequence {
		return 0, fmt.Errorf("the store has numbered all the envelopes it can: %w", storage.ErrFull)
	}
	t.changed = true
	r := record{
		born:     t.lived.Milliseconds(),
		received: t.stamp.UnixMilli(),
		size:     uint32(size),
		copies:   uint32(len(owners)),
		owner:    owners[0],
		shared:   len(owners) > 1,
	}
	if r.apart = r.shared || size > inlineBytes; r.apart {
		err = t.putApart(q, owners, body)
	} else {
		r.body = body
	}
	if err != nil {
		return 0, err
	}
	if err := t.log.Put(q.key(), r.encode()); err != nil {
		return 0, err
	}
	for _, o := range owners {
		if err := t.enter(o, q, size); err != nil {
			return 0, err
		}
	}
	return q, nil
}

// enter adds an entry to a mailbox and to the totals.
func (t *txn) enter(o owner, q sequence, size int64) error {
	if err := t.mail.Put(o.entryKey(q), binary.BigEndian.AppendUint32(nil, uint32(size))); err != nil {
		return err
	}
	return t.count(o, size, 1)
}

// leave takes an entry out of a mailbox and of the totals. It reports false, and
// changes nothing, if there is none.
func (t *txn) leave(o owner, q sequence, size int64) (bool, error) {
	key := o.entryKey(q)
	if t.mail.Get(key) == nil {
		return false, nil
	}
	t.changed = true
	if err := t.mail.Delete(key); err != nil {
		return false, err
	}
	return true, t.count(o, -size, -1)
}

func (t *txn) count(o owner, size, messages int64) error {
	box, err := t.box(o)
	if err != nil {
		return err
	}
	box.Bytes, box.Messages = box.Bytes+size, box.Messages+messages
	t.held.Bytes, t.held.Messages = t.held.Bytes+size, t.held.Messages+messages
	if box.Messages == 0 {
		return t.mail.Delete(o.totalsKey())
	}
	return t.mail.Put(o.totalsKey(), encodeTotals(box))
}

func (t *txn) box(o owner) (storage.Totals, error) { return decodeTotals(t.mail.Get(o.totalsKey())) }

// record reads the log; ok is false if the envelope is gone.
func (t *txn) record(q sequence) (r record, ok bool, err error) {
	b := t.log.Get(q.key())
	if b == nil {
		return record{}, false, nil
	}
	r, err = decodeRecord(b)
	return r, err == nil, err
}

// acknowledge removes one copy and reports whether it was there and unexpired.
func (t *txn) acknowledge(o owner, q sequence) (bool, error) {
	r, ok, err := t.record(q)
	if !ok {
		return false, err
	}
	left, err := t.leave(o, q, int64(r.size))
	if !left || err != nil {
		return false, err
	}
	was := !t.expired(r)
	if r.copies--; r.copies == 0 {
		return was, t.drop(q, r.apart)
	}
	return was, t.log.Put(q.key(), r.encode())
}

// shed removes an envelope from every mailbox that still has it, and returns how
// many did.
func (t *txn) shed(q sequence, r record) (copies int, err error) {
	owners := []owner{r.owner}
	if r.shared {
		if owners, err = t.sharers(q); err != nil {
			return 0, err
		}
	}
	for _, o := range owners {
		left, err := t.leave(o, q, int64(r.size))
		if err != nil {
			return copies, err
		}
		if left {
			copies++
		}
	}
	return copies, t.drop(q, r.apart)
}

// drop takes the envelope itself out of the log.
func (t *txn) drop(q sequence, apart bool) error {
	t.changed = true
	if apart {
		if err := t.log.DeleteBucket(q.bodyKey()); err != nil {
			return fmt.Errorf("dropping a body: %w", err)
		}
	}
	return t.log.Delete(q.key())
}

// oldest finds the envelope that was filed first.
func (t *txn) oldest() (q sequence, r record, ok bool, err error) {
	k, v := t.log.Cursor().First()
	if k == nil {
		return 0, record{}, false, nil
	}
	if len(k) != 8 {
		return 0, record{}, false, fmt.Errorf("a log key of %d bytes: %w", len(k), errDamaged)
	}
	r, err = decodeRecord(v)
	return sequence(binary.BigEndian.Uint64(k)), r, err == nil, err
}

// oldestOf finds the owner's envelope that was filed first.
func (t *txn) oldestOf(o owner) (q sequence, r record, ok bool, err error) {
	k, _ := t.mail.Cursor().Seek(o[:])
	if len(k) != len(o)+8 || !bytes.HasPrefix(k, o[:]) || bytes.Equal(k, o.totalsKey()) {
		return 0, record{}, false, nil
	}
	q = sequence(binary.BigEndian.Uint64(k[len(o):]))
	if r, ok, err = t.record(q); !ok && err == nil {
		err = fmt.Errorf("a mailbox names an envelope that the log lacks: %w", errDamaged)
	}
	return q, r, ok, err
}
