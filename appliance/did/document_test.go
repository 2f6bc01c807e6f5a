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

func TestSigningKeyIsThatOfTheFirstMethod(t *testing.T) {
	for name, text := range usable {
		t.Run(name, func(t *testing.T) {
			var doc did.Document
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			key, err := doc.SigningKey()
			if err != nil {
				t.Fatal(err)
			}
			if want := keyVectors[0].id; did.KeyDID(key) != want || doc.ID != "did:cid:ann" {
				t.Errorf("document of %s has the key of %s, want that of %s", doc.ID, did.KeyDID(key), want)
			}
		})
	}
}

func TestDocumentWithoutAKeyOfOurs(t *testing.T) {
	for name, text := range unusable {
		t.Run(name, func(t *testing.T) {
			var doc did.Document
			err := json.Unmarshal([]byte(text), &doc)
			if err == nil {
				_, err = doc.SigningKey()
			}
			if !errors.Is(err, did.ErrNoKey) {
				t.Errorf("error = %v, want ErrNoKey", err)
			}
		})
	}
}

func FuzzDocument(f *testing.F) {
	for _, text := range usable {
		f.Add([]byte(text))
	}
	for _, text := range unusable {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var doc did.Document
		if json.Unmarshal(text, &doc) != nil {
			return
		}
		key, err := doc.SigningKey()
		if err != nil {
			if !errors.Is(err, did.ErrNoKey) {
				t.Errorf("SigningKey: %v, want ErrNoKey", err)
			}
			return
		}
		again, err := did.KeyDocument(did.KeyDID(key))
		if err != nil || again.Signing != doc.Signing {
			t.Errorf("key %+v comes back as %+v, %v", doc.Signing, again.Signing, err)
		}
	})
}
