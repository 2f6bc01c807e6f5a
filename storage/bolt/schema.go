package bolt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/holdmail/holdmail/storage/ids"
	"go.etcd.io/bbolt"
)

// The file's layout. Few trees, since every tree that a commit touches costs
// pages (spec/storage.md): a log of envelopes by sequence, and one tree in which
// a mailbox's entries stand next to its totals. What one value can say stands in
// the head bucket, which is so small that bbolt keeps it inside the root page,
// written with every commit anyway.
//
//	holdmail                        the head, inline in the root page
//	  schema, secret, totals, clock, closed
//	log
//	  <sequence>             -> record: an envelope, its body inside it when small
//	  <sequence> 'b'         -> bucket: the body in pieces, and who shares it
//	mail
//	  <owner> <sequence>     -> the size of one copy, in bytes
//	  <owner> ff ff ... ff   -> the mailbox's totals
//	hooks
//	  <id>                   -> record: a delivery, its bytes inside it when small
//	  <id> 'b'               -> bucket: the bytes in pieces
//	  ff <address>           -> the address's totals
//	addresses
//	  <address>              -> nothing: it is registered
//	challenges                      only while no process has the file open
//
// The number on top of the hooks tree is the newest that an id in it ever had. That
// tree and the addresses stand in the root page, too, while they are small: a file
// without webhooks has no page for them.
const schemaVersion = 2

var (
	headBucket      = []byte("holdmail")
	logBucket       = []byte("log")
	mailBucket      = []byte("mail")
	hooksBucket     = []byte("hooks")
	addressBucket   = []byte("addresses")
	challengeBucket = []byte("challenges")

	schemaKey     = []byte("schema")      // decimal version of this layout
	secretKey     = []byte("secret")      // 32 random bytes that hide sequences in ids
	totalsKey     = []byte("totals")      // of all mail
	hookTotalsKey = []byte("hook totals") // of all deliveries; none before the first
	clockKey      = []byte("clock")       // see life
	closedKey     = []byte("closed")      // number of the transaction that closed the file in order
)

// owner is the key of a mailbox: the SHA-256 of the recipient's name, since
// names may be longer than a bbolt key.
type owner [sha256.Size]byte

func ownerOf(recipient string) owner { return sha256.Sum256([]byte(recipient)) }

// sequence numbers envelopes in the order they were filed. It never repeats.
type sequence uint64

const lastSequence = sequence(ids.Last)

func (q sequence) key() []byte { return binary.BigEndian.AppendUint64(nil, uint64(q)) }

func (q sequence) bodyKey() []byte { return append(q.key(), 'b') }

func (o owner) entryKey(q sequence) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(o)+8), o[:]...), uint64(q))
}

// totalsKey sorts behind the owner's newest entry, so that filing a message
// mostly touches one leaf for both.
func (o owner) totalsKey() []byte { return o.entryKey(1<<64 - 1) }

// trees are those that a file of that version has in any case.
func trees(version int) [][]byte {
	all := [][]byte{headBucket, logBucket, mailBucket}
	if version >= 2 {
		all = append(all, hooksBucket, addressBucket)
	}
	return all
}

// checkSchema tells whether the file is a holdmail store that this program reads,
// and of which version.
func checkSchema(tx *bbolt.Tx) (version int, err error) {
	head := tx.Bucket(headBucket)
	if head == nil {
		return 0, fmt.Errorf("this bbolt file has no holdmail record in it: it belongs to another program and is left alone")
	}
	text := string(head.Get(schemaKey))
	version, err = strconv.Atoi(text)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("the store's version reads %q: the file is damaged", text)
	}
	if version > schemaVersion {
		return 0, fmt.Errorf("the store has version %d, and this holdmail reads version %d: run the newer holdmail that wrote it", version, schemaVersion)
	}
	return version, nil
}

// putSchema makes the file one of this version, from nothing or from any version
// before.
func putSchema(tx *bbolt.Tx) error {
	for _, name := range trees(schemaVersion) {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(headBucket).Put(schemaKey, strconv.AppendInt(nil, schemaVersion, 10))
}
