package resolve_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

const ann = did.ID("did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme")

// named resolves every DID to a document that bears its name.
type named string

func (n named) Resolve(context.Context, did.ID) (did.Document, error) {
	return did.Document{ID: string(n)}, nil
}

func TestByMethod(t *testing.T) {
	r := resolve.ByMethod{Methods: map[string]resolve.Resolver{"key": named("key's")}, Otherwise: named("other")}
	for id, want := range map[did.ID]string{
		"did:key:z1":     "key's",
		"did:cid:ann":    "other",
		"did:web:key":    "other",
		"did:keys:z1":    "other",
		"did:x:did:key:": "other",
	} {
		if doc, err := r.Resolve(t.Context(), id); err != nil || doc.ID != want {
			t.Errorf("%s went to %q, %v; want %q", id, doc.ID, err, want)
		}
	}
}

func TestKeyNeedsNobody(t *testing.T) {
	doc, err := resolve.Key{}.Resolve(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	key, err := doc.SigningKey()
	if err != nil || did.KeyDID(key) != ann {
		t.Errorf("key = %v, %v; want that of %s", key, err, ann)
	}
	if _, err := (resolve.Key{}).Resolve(t.Context(), "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"); !errors.Is(err, did.ErrNoKey) {
		t.Errorf("an Ed25519 did:key: %v, want ErrNoKey", err)
	}
}
