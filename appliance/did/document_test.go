package did_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
)

// The point of keyVectors[0], as Node's crypto (ECDH.getPublicKey) gives it.
const (
	x = "h0wVx_2iDlOcblulc8E5iEw1EYh5n1RYtLQfeSTyNc0"
	y = "O2EATIGbu6DezKFptj5scAIRntgfecanVNXxat1rnwE"
)

// document is a didDocument whose verificationMethod has these members.
func document(methods string) string {
	return `{"@context":["https://www.w3.org/ns/did/v1"],"id":"did:cid:ann","verificationMethod":[` + methods + `],"authentication":["#key-1"]}`
}

func method(kty, crv, x, y string) string {
	jwk, err := json.Marshal(map[string]string{"kty": kty, "crv": crv, "x": x, "y": y})
	if err != nil {
		panic(err)
	}
	return `{"id":"#key-1","controller":"did:cid:ann","type":"EcdsaSecp256k1VerificationKey2019","publicKeyJwk":` + string(jwk) + `}`
}

// usable are documents with a key, unusable are those without.
var (
	usable = map[string]string{
		"an agent's document":             document(method("EC", "secp256k1", x, y)),
		"a second method of another kind": document(method("EC", "secp256k1", x, y) + `,{"publicKeyMultibase":"z6Mk"}`),
		"a second method of no kind":      document(method("EC", "secp256k1", x, y) + `,{"publicKeyJwk":{"x":1}},"#key-3"`),
	}
	unusable = map[string]string{
		"an asset's document":      `{"id":"did:cid:thing","controller":"did:cid:ann"}`,
		"a deactivated DID":        `{"id":"did:cid:ann"}`,
		"no methods":               document(``),
		"no publicKeyJwk":          document(`{"id":"#key-1","publicKeyMultibase":"zQ3sh"}`),
		"a good key in second":     document(`{"id":"#key-0"},` + method("EC", "secp256k1", x, y)),
		"missing crv":              document(method("EC", "", x, y)),
		"wrong crv":                document(method("EC", "P-256", x, y)),
		"crv in another case":      document(method("EC", "SECP256K1", x, y)),
		"wrong kty":                document(method("OKP", "secp256k1", x, y)),
		"missing y":                document(method("EC", "secp256k1", x, "")),
		"31 bytes":                 document(method("EC", "secp256k1", x[:42], y)),
		"33 bytes":                 document(method("EC", "secp256k1", x+"A", y)),
		"padding":                  document(method("EC", "secp256k1", x+"=", y)),
		"a line break":             document(method("EC", "secp256k1", x[:42]+"\n", y)),
		"spare bits set":           document(method("EC", "secp256k1", x[:42]+"1", y)),
		"base64, not base64url":    document(method("EC", "secp256k1", "h0wVx/2iDlOcblulc8E5iEw1EYh5n1RYtLQfeSTyNc0", y)),
		"off the curve":            document(method("EC", "secp256k1", y, x)),
		"the point (0, 0)":         document(method("EC", "secp256k1", zero, zero)),
		"a coordinate too large":   document(method("EC", "secp256k1", ones, y)),
		"a good Ed25519 key":       document(`{"id":"#key-1","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}`),
		"a good key in multibase":  document(`{"id":"#key-1","publicKeyMultibase":"zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"}`),
		"a key that is a number":   document(`{"publicKeyJwk":1}`),
		"a method that is a name":  document(`"#key-1"`),
		"methods that are no list": `{"id":"did:cid:ann","verificationMethod":{}}`,
		"an id that is a number":   `{"id":1}`,
		"a list":                   `[]`,
	}
)

const (
	zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	ones = "__________________________________________8"
)

func TestFirstMethodSigns(t *testing.T) {
	want := keyOf(t, keyVectors[0].id)
	for name, text := range usable {
		t.Run(name, func(t *testing.T) {
			doc, err := did.FirstMethod([]byte(text))
			if err != nil || doc.Signing != want || doc.ID != "did:cid:ann" {
				t.Errorf("FirstMethod = %v, %v; want did:cid:ann with the key of %s", doc, err, keyVectors[0].id)
			}
		})
	}
}

func TestDocumentWithoutAKeyOfOurs(t *testing.T) {
	for name, text := range unusable {
		t.Run(name, func(t *testing.T) {
			if doc, err := did.FirstMethod([]byte(text)); !errors.Is(err, did.ErrNoKey) || doc.Signing != (did.Key{}) {
				t.Errorf("FirstMethod = %v, %v; want ErrNoKey", doc, err)
			}
		})
	}
}

func FuzzFirstMethod(f *testing.F) {
	for _, text := range usable {
		f.Add([]byte(text))
	}
	for _, text := range unusable {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := did.FirstMethod(text)
		wantKeyOrReason(t, doc, err)
		if err == nil && doc.Signing.Curve != did.Secp256k1 {
			t.Errorf("a key on %s signs", doc.Signing.Curve)
		}
	})
}

// keyOf is the key in a did:key.
func keyOf(t testing.TB, id did.ID) did.Key {
	t.Helper()
	doc, err := did.KeyDocument(id)
	if err != nil {
		t.Fatalf("KeyDocument(%s): %v", id, err)
	}
	return doc.Signing
}

// wantKeyOrReason fails the test unless there is either a key of full length or
// ErrNoKey.
func wantKeyOrReason(t testing.TB, doc did.Document, err error) {
	t.Helper()
	points := map[did.Curve]int{did.Secp256k1: 65, did.P256: 65, did.Ed25519: 32}
	switch {
	case err != nil && (!errors.Is(err, did.ErrNoKey) || doc.Signing != did.Key{}):
		t.Errorf("%v, %v; want ErrNoKey and no key", doc, err)
	case err == nil && (points[doc.Signing.Curve] == 0 || len(doc.Signing.Point) != points[doc.Signing.Curve]):
		t.Errorf("a key on %q of %d bytes", doc.Signing.Curve, len(doc.Signing.Point))
	}
}
