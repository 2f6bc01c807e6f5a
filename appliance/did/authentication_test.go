package did_test

import (
	"errors"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
)

// authenticated is a document with these methods and this authentication.
func authenticated(methods, authentication string) string {
	return `{"id":"did:web:ann.example","verificationMethod":[` + methods + `],"authentication":[` + authentication + `]}`
}

const (
	encrypting = `{"id":"#e","publicKeyMultibase":"z6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR"}`
	signing    = `{"id":"#s","publicKeyMultibase":"z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr"}`
	signer     = did.ID("did:key:z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr")
)

var authenticating = map[string]string{
	"a relative name":              authenticated(encrypting+`,`+signing, `"#s"`),
	"an absolute name":             authenticated(encrypting+`,`+signing, `"did:web:ann.example#s"`),
	"an absolute method":           authenticated(`{"id":"did:web:ann.example#s","publicKeyMultibase":"z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr"}`, `"#s"`),
	"the first of two":             authenticated(signing+`,`+encrypting, `"#s","#e"`),
	"embedded":                     authenticated(encrypting, signing),
	"embedded, no methods":         `{"id":"did:web:ann.example","authentication":[` + signing + `]}`,
	"multibase base64url":          authenticated(`{"id":"#s","publicKeyMultibase":"u7QGucRm1oSXeDJQv1Q-7TjU0SoeshjEmOP6xryVKXhbEcQ"}`, `"#s"`),
	"methods of no known shape":    authenticated(`1,{"id":2},`+signing, `"#s"`),
	"the JWK, if there are both":   authenticated(`{"id":"#s","publicKeyMultibase":"z1","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"rnEZtaEl3gyUL9UPu041NEqHrIYxJjj-sa8lSl4WxHE"}}`, `"#s"`),
	"a second entry of no meaning": authenticated(signing, `"#s",7`),
}

var notAuthenticating = map[string]string{
	"no authentication":             `{"id":"did:web:ann.example","verificationMethod":[` + signing + `]}`,
	"an empty one":                  authenticated(signing, ``),
	"an encryption key first":       authenticated(encrypting+`,`+signing, `"#e","#s"`),
	"a name that is not there":      authenticated(signing, `"#x"`),
	"another DID's key":             authenticated(signing, `"did:web:bob.example#s"`),
	"another DID's key of our name": authenticated(`{"id":"did:web:bob.example#s","publicKeyMultibase":"z6MkrCD1csqtgdj8sjrsu8jxcbeyP6m7LiK87NzhfWqio5yr"}`, `"#s"`),
	"a number":                      authenticated(signing, `1`),
	"a list":                        `{"id":"did:web:ann.example","authentication":"#s"}`,
	"a base58 key of 2018":          authenticated(`{"id":"#s","publicKeyBase58":"ByHnpUCFb1vAfh9CFZ8ZkmUZguURW8nSw889hy6rD8L7"}`, `"#s"`),
	"multibase without multicodec":  authenticated(`{"id":"#s","publicKeyMultibase":"zByHnpUCFb1vAfh9CFZ8ZkmUZguURW8nSw889hy6rD8L7"}`, `"#s"`),
	"HTML":                          `<html>`,
}

func TestFirstOfAuthenticationSigns(t *testing.T) {
	want := keyOf(t, signer)
	for name, text := range authenticating {
		t.Run(name, func(t *testing.T) {
			doc, err := did.Authentication([]byte(text), "did:web:ann.example")
			if err != nil || doc.Signing != want || doc.ID != "did:web:ann.example" {
				t.Errorf("Authentication = %v, %v; want the key of %s", doc, err, signer)
			}
		})
	}
}

func TestDocumentThatAuthenticatesNobody(t *testing.T) {
	for name, text := range notAuthenticating {
		t.Run(name, func(t *testing.T) {
			if doc, err := did.Authentication([]byte(text), "did:web:ann.example"); !errors.Is(err, did.ErrNoKey) || doc.Signing != (did.Key{}) {
				t.Errorf("Authentication = %v, %v; want ErrNoKey", doc, err)
			}
		})
	}
}

func FuzzAuthentication(f *testing.F) {
	for _, text := range authenticating {
		f.Add([]byte(text))
	}
	for _, text := range notAuthenticating {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := did.Authentication(text, "did:web:ann.example")
		wantKeyOrReason(t, doc, err)
	})
}
