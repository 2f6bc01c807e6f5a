package ids_test

import (
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdmail/holdmail/storage/ids"
)

func newNamer() (n ids.Namer) {
	rand.Read(n.Secret[:])
	return n
}

func ownerOf(name string) ids.Owner { return sha256.Sum256([]byte(name)) }

func TestIDsComeBack(t *testing.T) {
	n := newNamer()
	rapid.Check(t, func(r *rapid.T) {
		q := rapid.Uint64Range(1, ids.Last).Draw(r, "sequence")
		mine, other := ownerOf(rapid.String().Draw(r, "owner")), ownerOf(rapid.String().Draw(r, "other"))
		id := n.ID(mine, q)
		if u, err := uuid.Parse(id); err != nil || u.Version() != 4 || u.Variant() != uuid.RFC4122 || u.String() != id {
			r.Fatalf("%s is no version 4 UUID: %v", id, err)
		}
		if got, ok := n.Sequence(mine, id); !ok || got != q {
			r.Fatalf("Sequence(%s) = %d, %v; want %d", id, got, ok, q)
		}
		if _, ok := n.Sequence(other, id); ok && other != mine {
			r.Fatalf("%s is somebody else's id, too", id)
		}
		if _, ok := newNamer().Sequence(mine, id); ok {
			r.Fatalf("%s is an id of another store, too", id)
		}
	})
}

func TestMadeUpIDsAreNobodys(t *testing.T) {
	n, o := newNamer(), ownerOf("ann")
	for range 10_000 {
		if _, ok := n.Sequence(o, uuid.NewString()); ok {
			t.Fatal("a random UUID was taken for an id")
		}
	}
}

// A store's ids must mean the same to every later version: they are in wallets.
func TestIDsStayTheSame(t *testing.T) {
	n := ids.Namer{Secret: sha256.Sum256([]byte("secret"))}
	if got := n.ID(ownerOf("ann"), 42); got != "3ae9a803-ba2e-4c58-9497-3e1e840d1b5b" {
		t.Errorf("ID = %s", got)
	}
}
