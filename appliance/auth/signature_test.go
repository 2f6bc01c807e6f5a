package auth_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/did"
)

// curveVector is a signature that Node's crypto made: see testdata/curves.mjs.
type curveVector struct {
	PublicKeyJWK did.JWK `json:"publicKeyJwk"`
	Challenge    string  `json:"challenge"`
	Signature    string  `json:"signature"`
	Other        string  `json:"other"` // the same signature, malleated
}

//go:embed testdata/curves.json
var curveVectors []byte

// vectorsOn are Node's signatures on a curve.
func vectorsOn(t testing.TB, curve did.Curve) (found []curveVector) {
	t.Helper()
	var all []curveVector
	if err := json.Unmarshal(curveVectors, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.PublicKeyJWK.Curve == string(curve) {
			found = append(found, v)
		}
	}
	if len(found) < 2 {
		t.Fatalf("%d vectors on %s", len(found), curve)
	}
	return found
}

// proves reports whether a gate that knows this key takes a signature of a challenge.
func proves(t testing.TB, key did.Key, challenge, signature string) bool {
	t.Helper()
	c := &challenges{live: map[string]bool{challenge: true}}
	g := &auth.Gate{Challenges: c, Resolver: &directory{doc: did.Document{Signing: key}}}
	id, err := prove(t, g, auth.Proof{DID: "did:key:z1", Challenge: challenge, Signature: signature})
	if err != nil && !errors.Is(err, auth.ErrSignature) || (err == nil) != (id == "did:key:z1") {
		t.Fatalf("Verify = %q, %v", id, err)
	}
	return err == nil
}

func TestSignaturesOfNodeOnOtherCurves(t *testing.T) {
	for _, curve := range []did.Curve{did.P256, did.Ed25519} {
		for _, v := range vectorsOn(t, curve) {
			if !proves(t, keyOf(t, v.PublicKeyJWK), v.Challenge, v.Signature) {
				t.Errorf("%s: the signature of %s was refused", curve, v.Challenge)
			}
		}
	}
}

// P-256 has both forms of a signature in use; Ed25519 has one.
func TestMalleatedSignaturesOnOtherCurves(t *testing.T) {
	for curve, good := range map[did.Curve]bool{did.P256: true, did.Ed25519: false} {
		for _, v := range vectorsOn(t, curve) {
			if got := proves(t, keyOf(t, v.PublicKeyJWK), v.Challenge, v.Other); got != good {
				t.Errorf("%s: the malleated signature is good: %t, want %t", curve, got, good)
			}
		}
	}
}

func TestFormOfASignatureOnOtherCurves(t *testing.T) {
	orders := map[did.Curve]string{
		did.P256:    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
		did.Ed25519: "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", // little-endian
	}
	zero := strings.Repeat("0", 64)
	for curve, order := range orders {
		v, other := vectorsOn(t, curve)[0], vectorsOn(t, curve)[1]
		key, r, s := keyOf(t, v.PublicKeyJWK), v.Signature[:64], v.Signature[64:]
		for _, tt := range []struct {
			name, signature string
			good            bool
		}{
			{"lower case", v.Signature, true},
			{"upper case", strings.ToUpper(v.Signature), true},
			{"0x", "0x" + v.Signature, false},
			{"0x in 128 characters", "0x" + v.Signature[2:], false},
			{"126 digits", v.Signature[:126], false},
			{"130 digits", v.Signature + "00", false},
			{"r is 0", zero + s, false},
			{"s is 0", r + zero, false},
			{"both are 0", zero + zero, false},
			{"s is the order", r + order, false},
			{"r is the order", order + s, false},
			{"all ones", strings.Repeat("f", 128), false},
			{"s and r", s + r, false},
			{"another challenge's", other.Signature, false},
		} {
			t.Run(string(curve)+", "+tt.name, func(t *testing.T) {
				if got := proves(t, key, v.Challenge, tt.signature); got != tt.good {
					t.Errorf("good: %t, want %t", got, tt.good)
				}
			})
		}
	}
}

func TestSignatureOnAnotherCurve(t *testing.T) {
	koblitz := vectors(t)[0]
	for _, curve := range []did.Curve{did.P256, did.Ed25519} {
		v := vectorsOn(t, curve)[0]
		if proves(t, keyOf(t, v.PublicKeyJWK), koblitz.Challenge, koblitz.Low) {
			t.Errorf("a secp256k1 signature passes for a key on %s", curve)
		}
		if proves(t, keyOf(t, koblitz.PublicKeyJWK), v.Challenge, v.Signature) {
			t.Errorf("a signature on %s passes for a secp256k1 key", curve)
		}
	}
}

func TestOwnerOfBothFormsIsOne(t *testing.T) {
	const short = "did:peer:4zQmSxwE7zQY8wJVpBcK4dh7y7PZHpuoJ2NnuQFMjngCiVrv" // the hash of z1
	v := vectorsOn(t, did.Ed25519)[0]
	for _, id := range []string{short, short + ":z1"} {
		c := &challenges{live: map[string]bool{v.Challenge: true}}
		g := &auth.Gate{Challenges: c, Resolver: &directory{doc: did.Document{Signing: keyOf(t, v.PublicKeyJWK)}}}
		if owner, err := prove(t, g, auth.Proof{DID: id, Challenge: v.Challenge, Signature: v.Signature}); owner != short || err != nil {
			t.Errorf("the owner of %s is %q, %v; want %s", id, owner, err, short)
		}
	}
}

// Whoever controls a DID that only begins like another's, in the eyes of some
// resolver, is not the owner of the other.
func TestALongFormWithAnotherDocumentOwnsNothingElse(t *testing.T) {
	const victim = "did:peer:4zQmSxwE7zQY8wJVpBcK4dh7y7PZHpuoJ2NnuQFMjngCiVrv"
	v := vectorsOn(t, did.Ed25519)[0]
	for _, id := range []string{victim + ":z2", victim + ":", victim + ":bagattacker", victim + ":z1:bagattacker"} {
		c := &challenges{live: map[string]bool{v.Challenge: true}}
		g := &auth.Gate{Challenges: c, Resolver: &directory{doc: did.Document{Signing: keyOf(t, v.PublicKeyJWK)}}}
		if owner, err := prove(t, g, auth.Proof{DID: id, Challenge: v.Challenge, Signature: v.Signature}); owner == victim {
			t.Errorf("control of %s was taken for control of %s (%v)", id, victim, err)
		}
	}
}

// keyOf is the key that a JWK of a vector is.
func keyOf(t testing.TB, jwk did.JWK) did.Key {
	t.Helper()
	key, err := jwk.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}
