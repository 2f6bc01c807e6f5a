package bolt

import (
	"fmt"

	"github.com/holdmail/holdmail/storage"
)

// sweepCopies is how many expired copies a deposit sheds on its way. It is more
// than a deposit brings, so that mailboxes which nobody polls empty all the same.
const sweepCopies = 16

// fit makes a deposit of size bytes for each of owners fit the caps, or says why
// it does not. It sheds what has expired, a little in any case and as much as
// this deposit needs, oldest first; so a refusal is never decided on stale
// counts. It never sheds what has not expired.
func (t *txn) fit(owners []owner, size int64) error {
	n := int64(len(owners))
	if size > t.caps.RecipientBytes || size > t.caps.TotalBytes/n || n > t.caps.TotalMessages {
		return fmt.Errorf("an envelope over a cap by itself: %w", storage.ErrFull)
	}
	if _, err := t.sweep(sweepCopies); err != nil {
		return err
	}
	for _, o := range owners {
		if err := t.fitBox(o, size); err != nil {
			return err
		}
	}
	for t.held.Bytes+n*size > t.caps.TotalBytes || t.held.Messages+n > t.caps.TotalMessages {
		if copies, err := t.shedExpired(t.oldest()); err != nil {
			return err
		} else if copies == 0 {
			return fmt.Errorf("the store: %w", storage.ErrFull)
		}
	}
	return nil
}

// sweep sheds the oldest envelopes that have expired, until at least so many
// copies are gone, and returns how many went.
func (t *txn) sweep(enough int) (shed int, err error) {
	for shed < enough {
		copies, err := t.shedExpired(t.oldest())
		if copies == 0 || err != nil {
			return shed, err
		}
		shed += copies
	}
	return shed, nil
}

func (t *txn) fitBox(o owner, size int64) error {
	for {
		box, err := t.box(o)
		if err != nil {
			return err
		}
		if box.Bytes+size <= t.caps.RecipientBytes && box.Messages < t.caps.RecipientMessages {
			return nil
		}
		if copies, err := t.shedExpired(t.oldestOf(o)); err != nil {
			return err
		} else if copies == 0 {
			return fmt.Errorf("a mailbox: %w", storage.ErrFull)
		}
	}
}

// shedExpired sheds the envelope that oldest or oldestOf found if it has expired,
// and returns how many copies that freed: none when there is nothing to shed.
func (t *txn) shedExpired(q sequence, r record, ok bool, err error) (copies int, _ error) {
	if err != nil || !ok || !t.expired(r) {
		return 0, err
	}
	return t.shed(q, r)
}
