package did_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/mr-tron/base58"

	"github.com/holdmail/holdmail/appliance/did"
)

// The vectors of the did:key specification (w3c-ccg/did-method-key,
// test-vectors/secp256k1.json): each DID with its private key and, in base58,
// its compressed public key.
var keyVectors = []struct {
	id              did.ID
	seed, publicKey string
}{
	{"did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", "9085d2bef69286a6cbb51623c8fa258629945cd55ca705cc4e66700396894e0c", "23o6Sau8NxxzXcgSc3PLcNxrzrZpbLeBn1izfv3jbKhuv"},
	{"did:key:zQ3shtxV1FrJfhqE1dvxYRcCknWNjHc3c5X1y3ZSoPDi2aur2", "f0f4df55a2b3ff13051ea814a8f24ad00f2e469af73c363ac7e9fb999a9072ed", "291KzQhqCPC18PqH83XKhxv1HdqrdnxyS7dh15t2uNRzJ"},
	{"did:key:zQ3shZc2QzApp2oymGvQbzP8eKheVshBHbU4ZYjeXqwSKEn6N", "6b0b91287ae3348f8c2f2552d766f30e3604867e34adc37ccbb74a8e6b893e02", "oesQ92MLiAkt2pjBcJFbW7H4DvzKJv22cotjYbmC2JEe"},
	{"did:key:zQ3shadCps5JLAHcZiuX5YUtWHHL8ysBJqFLWvjZDKAWUBGzy", "c0a6a7c560d37d7ba81ecee9543721ff48fea3e0fb827d42c1868226540fac15", "pg3p1vprqePgUoqfAQ1TTgxhL6zLYhHyzooR1pqLxo9F"},
	{"did:key:zQ3shptjE6JwdkeKN4fcpnYQY3m9Cet3NiHdAfpvSUZBFoKBj", "175a232d440be1e0788f25488a73d9416c04b6f924bea6354bf05dd2f1a75133", "24waDFAUAS16UpZwQQTXVEAmm17rQRjadjuAeBDW8aqL1"},
}

func TestKeyDocumentHoldsTheKeyOfTheDID(t *testing.T) {
	for _, tt := range keyVectors {
		doc, err := did.KeyDocument(tt.id)
		if err != nil {
			t.Fatalf("KeyDocument(%s): %v", tt.id, err)
		}
		key, err := doc.SigningKey()
		if err != nil {
			t.Fatalf("%s: SigningKey: %v", tt.id, err)
		}
		if doc.ID != string(tt.id) {
			t.Errorf("document's id = %s, want %s", doc.ID, tt.id)
		}
		if got := base58.Encode(key.SerializeCompressed()); got != tt.publicKey {
			t.Errorf("%s: key = %s, want %s", tt.id, got, tt.publicKey)
		}
	}
}

func TestKeyDID(t *testing.T) {
	for _, tt := range keyVectors {
		seed, err := hex.DecodeString(tt.seed)
		if err != nil {
			t.Fatal(err)
		}
		if got := did.KeyDID(secp256k1.PrivKeyFromBytes(seed).PubKey()); got != tt.id {
			t.Errorf("KeyDID = %s, want %s", got, tt.id)
		}
	}
}

func TestKeyDocumentRefusesOtherKeys(t *testing.T) {
	offCurve := make([]byte, 35)
	copy(offCurve, "\xe7\x01\x02")
	offCurve[34] = 5 // x = 5 is on no point of secp256k1
	hybrid := append([]byte("\xe7\x01\x06"), offCurve[3:]...)
	for _, tt := range []struct{ name, id string }{
		{"Ed25519", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
		{"P-256", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"},
		{"not a did:key", "did:cid:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"},
		{"other multibase", "did:key:uQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"},
		{"not base58", "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBm0"},
		{"a digit short", "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBm"},
		{"a leading zero", "did:key:z1Q3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"},
		{"8 KiB of base58", "did:key:z" + strings.Repeat("z", 8000)},
		{"off the curve", "did:key:z" + base58.Encode(offCurve)},
		{"not compressed", "did:key:z" + base58.Encode(hybrid)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if doc, err := did.KeyDocument(did.ID(tt.id)); !errors.Is(err, did.ErrNoKey) {
				t.Errorf("KeyDocument = %v, %v; want ErrNoKey", doc, err)
			}
		})
	}
}
