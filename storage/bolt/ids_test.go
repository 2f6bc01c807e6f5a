package bolt

import (
	"crypto/rand"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func newNamer() (n namer) {
	rand.Read(n.secret[:])
	return n
}

func TestIDsComeBack(t *testing.T) {
	n := newNamer()
	rapid.Check(t, func(r *rapid.T) {
		q := sequence(rapid.Uint64Range(1, uint64(lastSequence)).Draw(r, "sequence"))
		mine, other := ownerOf(rapid.String().Draw(r, "owner")), ownerOf(rapid.String().Draw(r, "other"))
		id := n.id(mine, q)
		if u, err := uuid.Parse(id); err != nil || u.Version() != 4 || u.Variant() != uuid.RFC4122 || u.String() != id {
			r.Fatalf("%s is no version 4 UUID: %v", id, err)
		}
		if got, ok := n.sequence(mine, id); !ok || got != q {
			r.Fatalf("sequence(%s) = %d, %v; want %d", id, got, ok, q)
		}
		if _, ok := n.sequence(other, id); ok && other != mine {
			r.Fatalf("%s is somebody else's id, too", id)
		}
		if _, ok := newNamer().sequence(mine, id); ok {
			r.Fatalf("%s is an id of another store, too", id)
		}
	})
}

func TestMadeUpIDsAreNobodys(t *testing.T) {
	n, o := newNamer(), ownerOf("ann")
	for range 10_000 {
		if _, ok := n.sequence(o, uuid.NewString()); ok {
			t.Fatal("a random UUID was taken for an id")
		}
	}
}
