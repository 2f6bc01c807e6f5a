package did_test

import (
	"bytes"
	"encoding/base64"
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

// The vectors of the same specification for other curves (test-vectors/
// ed25519-x25519.json and nist-curves.json), with their points in hex.
var otherKeyVectors = []struct {
	id    did.ID
	curve did.Curve
	point string
}{
	{"did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp", did.Ed25519, base58Hex("4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS")},
	{"did:key:z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG", did.Ed25519, base58Hex("6ASf5EcmmEHTgDJ4X4ZT5vT6iHVJBXPg5AN5YoTCpGWt")},
	{"did:key:z6MknGc3ocHs3zdPiJbnaaqDi58NGb4pk1Sp9WxWufuXSdxf", did.Ed25519, base58Hex("8pM1DN3RiT8vbom5u1sNryaNT1nyL8CTTW3b5PwWXRBH")},
	{"did:key:z6MkvqoYXQfDDJRv8L4wKzxYeuKyVZBfi9Qo6Ro8MiLH3kDQ", did.Ed25519, base58Hex("HPYVwAQmskwT1qEEeRzhoomyfyupJGASQQtCXSNG8XS2")},
	{"did:key:zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv", did.P256, "04" + base64Hex("igrFmi0whuihKnj9R3Om1SoMph72wUGeFaBbzG2vzns") + base64Hex("efsX5b10x8yjyrj4ny3pGfLcY7Xby1KzgqOdqnsrJIM")},
	{"did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", did.P256, "04" + base64Hex("fyNYMN0976ci7xqiSdag3buk-ZCwgXU4kz9XNkBlNUI") + base64Hex("hW2ojTNfH7Jbi8--CJUo3OCbH3y5n91g-IMA9MLMbTU")},
}

func base58Hex(text string) string {
	b, err := base58.Decode(text)
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}

func base64Hex(text string) string {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}

func TestKeyDocumentHoldsTheKeyOfTheDID(t *testing.T) {
	for _, tt := range keyVectors {
		doc, err := did.KeyDocument(tt.id)
		if err != nil {
			t.Fatalf("KeyDocument(%s): %v", tt.id, err)
		}
		key, err := secp256k1.ParsePubKey([]byte(doc.Signing.Point))
		if err != nil || doc.ID != string(tt.id) || doc.Signing.Curve != did.Secp256k1 {
			t.Fatalf("%s: %v, %v", tt.id, doc, err)
		}
		if got := base58.Encode(key.SerializeCompressed()); got != tt.publicKey {
			t.Errorf("%s: key = %s, want %s", tt.id, got, tt.publicKey)
		}
	}
	for _, tt := range otherKeyVectors {
		if got := keyOf(t, tt.id); got.Curve != tt.curve || hex.EncodeToString([]byte(got.Point)) != tt.point {
			t.Errorf("%s: %s %x, want %s %s", tt.id, got.Curve, got.Point, tt.curve, tt.point)
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
		{"X25519", "did:key:z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW"},
		{"P-384", "did:key:z82Lm1MpAkeJcix9K8TMiLd5NMAhnwkjjCBeWHXyu3U4oT2MVJJKXkcVBgjGhnLBn2Kaau9"},
		{"an Ed25519 point that is none", "did:key:z" + base58.Encode(append([]byte("\xed\x01\x02"), make([]byte, 31)...))},
		{"an Ed25519 point of order 1", "did:key:z" + base58.Encode(append([]byte("\xed\x01\x01"), make([]byte, 31)...))},
		{"an Ed25519 point of order 4", "did:key:z" + base58.Encode(append([]byte("\xed\x01\x00"), make([]byte, 31)...))},
		{"an Ed25519 key a byte short", "did:key:z" + base58.Encode(append([]byte("\xed\x01\x02"), make([]byte, 30)...))},
		{"P-256, not compressed", "did:key:z" + base58.Encode(append([]byte("\x80\x24\x04"), make([]byte, 64)...))},
		{"P-256, off the curve", "did:key:z" + base58.Encode(append([]byte("\x80\x24\x02"), bytes.Repeat([]byte{0xff}, 32)...))},
		{"multibase base64url", "did:key:u7QGucRm1oSXeDJQv1Q-7TjU0SoeshjEmOP6xryVKXhbEcQ"},
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

func FuzzKeyDocument(f *testing.F) {
	for _, tt := range keyVectors {
		f.Add(string(tt.id))
	}
	for _, tt := range otherKeyVectors {
		f.Add(string(tt.id))
	}
	f.Fuzz(func(t *testing.T, id string) {
		doc, err := did.KeyDocument(did.ID(id))
		wantKeyOrReason(t, doc, err)
	})
}
