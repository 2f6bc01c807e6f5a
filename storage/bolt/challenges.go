package bolt

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/holdmail/holdmail/storage/challenge"
	"go.etcd.io/bbolt"
)

// saveChallenges is the last commit of an orderly stop. The number it leaves
// marks the file as closed in order for as long as nothing else is committed.
func (s *Store) saveChallenges(tx *bbolt.Tx, left []challenge.Left) error {
	head := tx.Bucket(headBucket)
	s.life.now()
	if err := head.Put(clockKey, s.life.keep()); err != nil {
		return err
	}
	if err := head.Put(closedKey, binary.BigEndian.AppendUint64(nil, uint64(tx.ID()))); err != nil {
		return err
	}
	if len(left) == 0 {
		return nil
	}
	b, err := tx.CreateBucketIfNotExists(challengeBucket)
	if err != nil {
		return err
	}
	for i, c := range left {
		v := binary.BigEndian.AppendUint64(nil, uint64(c.Life.Milliseconds()))
		if err := b.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), append(v, c.Text...)); err != nil {
			return err
		}
	}
	return nil
}

// restoreChallenges makes live what saveChallenges kept and erases it in the
// same commit, so that after a crash none of it is ever good again. Unless it is
// known how much time passed since, they may have expired, and are dropped.
func (s *Store) restoreChallenges(tx *bbolt.Tx, known bool) error {
	b := tx.Bucket(challengeBucket)
	away, err := s.away(tx)
	if err != nil {
		return err
	}
	var left []challenge.Left
	err = b.ForEach(func(_, v []byte) error {
		if len(v) < 8 {
			return fmt.Errorf("a challenge of %d bytes: %w", len(v), errDamaged)
		}
		left = append(left, challenge.Left{Text: string(v[8:]), Life: millis(v) - away})
		return nil
	})
	if err != nil {
		return err
	}
	if known {
		tx.OnCommit(func() { s.challenges.Restore(left) })
	}
	return tx.DeleteBucket(challengeBucket)
}

// away is how much of the store's life passed since the file was closed.
func (s *Store) away(tx *bbolt.Tx) (time.Duration, error) {
	kept := tx.Bucket(headBucket).Get(clockKey)
	if len(kept) < 8 {
		return 0, fmt.Errorf("challenges without a clock record: %w", errDamaged)
	}
	return s.life.age() - millis(kept), nil
}
