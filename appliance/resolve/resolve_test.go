package resolve_test

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

const ann = did.ID("did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme")

// named resolves every DID to a document that bears its name.
type named string

func (n named) Resolve(context.Context, did.ID) (did.Document, error) {
	return did.Document{ID: string(n)}, nil
}

func TestTheFirstWayForAMethodIsAsked(t *testing.T) {
	w := resolve.Ways{{"key", named("key's")}, {"web", named("web's")}, {"key", named("second")}, {"", named("other")}, {"cid", named("late")}}
	for id, want := range map[did.ID]string{
		"did:key:z1":     "key's",
		"did:web:key":    "web's",
		"did:cid:ann":    "other",
		"did:keys:z1":    "other",
		"did:x:did:key:": "other",
	} {
		if doc, err := w.Resolve(t.Context(), id); err != nil || doc.ID != want {
			t.Errorf("%s went to %q, %v; want %q", id, doc.ID, err, want)
		}
	}
}

func TestNoWayIsNoDID(t *testing.T) {
	if _, err := (resolve.Ways{{"key", named("key's")}}).Resolve(t.Context(), "did:cid:ann"); !errors.Is(err, resolve.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

//go:embed testdata/peer4.txt
var long string // the example of the Peer DID Method Specification

func TestStaticMethodsNeedNobody(t *testing.T) {
	ways := resolve.Ways{{"key", resolve.Key{}}, {"jwk", resolve.JWK{}}, {"peer", resolve.NewPeer()}}
	for _, id := range []did.ID{
		ann, "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
		"did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9",
		"did:peer:0z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH",
		"did:peer:2.Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc.Ez6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR",
		did.ID(long),
	} {
		if doc, err := ways.Resolve(t.Context(), id); err != nil || doc.ID != string(id) || doc.Signing == (did.Key{}) {
			t.Errorf("%.40s: %v, %v", id, doc, err)
		}
	}
}

func TestShortFormIsKnownOnceTheLongOneWasSeen(t *testing.T) {
	p, short := resolve.NewPeer(), did.ID(long).Canonical()
	lie := did.ID(long[:len(long)-1] + "y")
	for _, id := range []did.ID{short, lie, short} {
		if doc, err := p.Resolve(t.Context(), id); err == nil {
			t.Errorf("%.80s: %v before its long form was seen", id, doc)
		}
	}
	if _, err := p.Resolve(t.Context(), short); !errors.Is(err, resolve.ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
	seen, err := p.Resolve(t.Context(), did.ID(long))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := p.Resolve(t.Context(), short); err != nil || doc.ID != string(short) || doc.Signing != seen.Signing {
		t.Errorf("short form: %v, %v; want the key of the long one", doc, err)
	}
}

// longForm is a did:peer:4 unlike any other, by the method's "Creating a DID".
func longForm(i int) did.ID {
	document := fmt.Sprintf(`{"n":%d,"authentication":[{"publicKeyMultibase":"z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr"}]}`, i)
	written := "z" + base58.Encode(append([]byte{0x80, 0x04}, document...))
	hash := sha256.Sum256([]byte(written))
	return did.ID("did:peer:4z" + base58.Encode(append([]byte{0x12, 0x20}, hash[:]...)) + ":" + written)
}

func TestShortFormsRememberedAreBounded(t *testing.T) {
	const remembered = 10_000
	p := resolve.NewPeer()
	for i := range remembered + 1 {
		if _, err := p.Resolve(t.Context(), longForm(i)); err != nil {
			t.Fatal(err)
		}
		if i == remembered-1 {
			p.Resolve(t.Context(), longForm(0).Canonical()) // asked for, so not the next to be forgotten
		}
	}
	for i, known := range map[int]bool{0: true, 1: false, 2: true, remembered: true} {
		if _, err := p.Resolve(t.Context(), longForm(i).Canonical()); (err == nil) != known {
			t.Errorf("short form %d: %v, want known: %t", i, err, known)
		}
	}
}

// wantSecret fails the test if an error, which may be logged, tells any of these.
func wantSecret(t testing.TB, err error, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(fmt.Sprint(err), s) {
			t.Errorf("error tells %q: %v", s, err)
		}
	}
}
