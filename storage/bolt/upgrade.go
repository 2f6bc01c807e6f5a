package bolt

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// upgrade brings a file of an older version up to this one, in one commit.
func upgrade(db *bbolt.DB) error {
	var version int
	err := db.View(func(tx *bbolt.Tx) (err error) {
		version, err = checkSchema(tx)
		return err
	})
	if err != nil || version == schemaVersion {
		return err
	}
	if err := db.Update(putSchema); err != nil {
		return fmt.Errorf("bringing it from version %d to %d: %w", version, schemaVersion, err)
	}
	return nil
}
