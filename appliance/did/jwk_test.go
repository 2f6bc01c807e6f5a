package did_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
)

// The example of the did:jwk specification ("P-256").
const jwkExample = "did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9"

// The other example of it ("X25519"), which is for encrypting.
const jwkEncryptionExample = "did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJYMjU1MTkiLCJ1c2UiOiJlbmMiLCJ4IjoiM3A3YmZYdDl3YlRUVzJIQzdPUTFOei1EUThoYmVHZE5yZngtRkctSUswOCJ9"

func didJWK(jwk string) did.ID {
	return did.ID("did:jwk:" + base64.RawURLEncoding.EncodeToString([]byte(jwk)))
}

func TestJWKDocument(t *testing.T) {
	for _, tt := range []struct {
		name  string
		id    did.ID
		curve did.Curve
		point string // hex
	}{
		{"the specification's example", jwkExample, did.P256, "04" + base64Hex("acbIQiuMs3i8_uszEjJ2tpTtRM4EU3yz91PH6CdH2V0") + base64Hex("_KcyLj9vWMptnmKtm46GqDz8wf74I5LKgrl2GzH3nSE")},
		{"the Ed25519 key of RFC 8037, appendix A.2", didJWK(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`), did.Ed25519, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"},
		{"a secp256k1 key", didJWK(`{"kty":"EC","crv":"secp256k1","use":"sig","x":"` + x + `","y":"` + y + `"}`), did.Secp256k1, "04" + base64Hex(x) + base64Hex(y)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := did.JWKDocument(tt.id)
			if err != nil || doc.ID != string(tt.id) || doc.Signing.Curve != tt.curve || hex.EncodeToString([]byte(doc.Signing.Point)) != tt.point {
				t.Errorf("JWKDocument = %v, %v; want %s %s", doc, err, tt.curve, tt.point)
			}
		})
	}
}

func TestJWKDocumentRefusesOtherKeys(t *testing.T) {
	for name, id := range map[string]did.ID{
		"the specification's encryption key": jwkEncryptionExample,
		"a private key":                      didJWK(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`),
		"a key for encrypting":               didJWK(`{"kty":"EC","crv":"secp256k1","use":"enc","x":"` + x + `","y":"` + y + `"}`),
		"a P-256 curve with another's point": didJWK(`{"kty":"EC","crv":"P-256","x":"` + x + `","y":"` + y + `"}`),
		"an Ed25519 key of small order":      didJWK(`{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`),
		"an Ed25519 point in a second form":  didJWK(`{"kty":"OKP","crv":"Ed25519","x":"7v_______________________________________38"}`),
		"an Ed25519 key as EC":               didJWK(`{"kty":"EC","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`),
		"no object":                          didJWK(`[]`),
		"no JSON":                            didJWK(`{`),
		"nothing":                            "did:jwk:",
		"padding":                            jwkExample + "=",
		"a fragment's DID":                   jwkExample + ":0",
		"another method":                     did.ID(strings.Replace(jwkExample, "jwk", "key", 1)),
		"base64, not base64url":              "did:jwk:eyJ4Ijoi/+8ifQ",
	} {
		t.Run(name, func(t *testing.T) {
			if doc, err := did.JWKDocument(id); !errors.Is(err, did.ErrNoKey) {
				t.Errorf("JWKDocument = %v, %v; want ErrNoKey", doc, err)
			}
		})
	}
}

func FuzzJWKDocument(f *testing.F) {
	f.Add(jwkExample)
	f.Add(jwkEncryptionExample)
	f.Add(string(didJWK(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`)))
	f.Fuzz(func(t *testing.T, id string) {
		doc, err := did.JWKDocument(did.ID(id))
		wantKeyOrReason(t, doc, err)
	})
}
