package did_test

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/holdmail/holdmail/appliance/did"
)

// The examples of the Peer DID Method Specification: of "Method 0", "Method 2",
// "Method 3" (whose input is a numalgo 2) and "Method 4".
const (
	peer0      = "did:peer:0z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"
	peer2      = "did:peer:2.Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc.Ez6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR.SeyJ0IjoiZG0iLCJzIjp7InVyaSI6Imh0dHA6Ly9leGFtcGxlLmNvbS9kaWRjb21tIiwiYSI6WyJkaWRjb21tL3YyIl0sInIiOlsiZGlkOmV4YW1wbGU6MTIzNDU2Nzg5YWJjZGVmZ2hpI2tleS0xIl19fQ.SeyJ0IjoiZG0iLCJzIjp7InVyaSI6Imh0dHA6Ly9leGFtcGxlLmNvbS9hbm90aGVyIiwiYSI6WyJkaWRjb21tL3YyIl0sInIiOlsiZGlkOmV4YW1wbGU6MTIzNDU2Nzg5YWJjZGVmZ2hpI2tleS0yIl19fQ"
	peer2first = "did:peer:2.Ez6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc.Vz6MkqRYqQiSgvZQdnBytw86Qbs2ZWUkGv22od935YF4s8M7V.Vz6MkgoLTnTypo3tDRwCkZXSccTPHRLhF4ZnjhueYAFpEX6vg.SeyJ0IjoiZG0iLCJzIjoiaHR0cHM6Ly9leGFtcGxlLmNvbS9lbmRwb2ludCIsInIiOlsiZGlkOmV4YW1wbGU6c29tZW1lZGlhdG9yI3NvbWVrZXkiXSwiYSI6WyJkaWRjb21tL3YyIiwiZGlkY29tbS9haXAyO2Vudj1yZmM1ODciXX0"
	peer4short = did.ID("did:peer:4zQmd8CpeFPci817KDsbSAKWcXAE2mjvCQSasRewvbSF54Bd")
)

//go:embed testdata/peer4.txt
var peer4 string

// peer4Of is the long form for a document, by the specification's "Creating a DID".
func peer4Of(document string) did.ID {
	written := "z" + base58.Encode(append([]byte{0x80, 0x04}, document...))
	hash := sha256.Sum256([]byte(written))
	return did.ID("did:peer:4z" + base58.Encode(append([]byte{0x12, 0x20}, hash[:]...)) + ":" + written)
}

func TestPeerDocument(t *testing.T) {
	const p256 = "zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"
	for _, tt := range []struct {
		name     string
		id, same did.ID // same has the same key
	}{
		{"0", peer0, "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"},
		{"0 of P-256", "did:peer:0" + p256, "did:key:" + p256},
		{"2", peer2, "did:key:z6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc"},
		{"2, an encryption key first, two signing keys", peer2first, "did:key:z6MkqRYqQiSgvZQdnBytw86Qbs2ZWUkGv22od935YF4s8M7V"},
		{"2 of P-256", "did:peer:2.V" + p256, "did:key:" + p256},
		{"4", did.ID(peer4), signer},
		{"4, embedded", peer4Of(`{"authentication":[` + signing + `]}`), signer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := did.PeerDocument(tt.id)
			if err != nil || doc.ID != string(tt.id) || doc.Signing != keyOf(t, tt.same) {
				t.Errorf("PeerDocument = %v, %v; want the key of %s", doc, err, tt.same)
			}
		})
	}
}

func TestPeerDocumentRefusesAllElse(t *testing.T) {
	for name, id := range map[string]did.ID{
		"another method":            did.ID(strings.Replace(peer0, "peer", "perr", 1)),
		"no numalgo":                "did:peer:",
		"numalgo 1":                 "did:peer:1zQmZMygzYqNwU6Uhmewx5Xepf2VLp5S4HLSwwgf2aiKZuwa",
		"numalgo 3":                 "did:peer:3zQmS19jtYDvGtKVrJhQnRFpBQAx3pJ9omx2HpNrcXFuRCz9",
		"0 with more behind it":     peer0 + ".",
		"2 without elements":        "did:peer:2",
		"2 with an empty element":   "did:peer:2..Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc",
		"2 with no dot before it":   "did:peer:2Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc",
		"2 with another purpose":    "did:peer:2.Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc.Xz6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR",
		"2 that can only encrypt":   "did:peer:2.Ez6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR",
		"2 that signs with X25519":  "did:peer:2.Vz6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR.Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc",
		"4 in short":                peer4short,
		"4 with another hash":       did.ID(strings.Replace(peer4, "4zQmd8C", "4zQmd8D", 1)),
		"4 with another document":   did.ID(peer4[:len(peer4)-1] + "y"),
		"4 with a short hash":       did.ID(strings.Replace(peer4, "4zQmd8C", "4zQm", 1)),
		"4 with no document":        peer4short + ":",
		"4 of no JSON":              peer4Of(`{`),
		"4 without authentication":  peer4Of(`{"verificationMethod":[` + signing + `]}`),
		"4 with more behind it":     did.ID(peer4 + ":a"),
		"4 in another multibase":    did.ID(strings.Replace(peer4, ":z2M1", ":u2M1", 1)),
		"the example of its readme": "did:peer:4zQmb7xLdVY9TXx8oov5XgpGUmGELgqiAV2699s43i6Qdm3M:zQSJgiFTYiCHjQ9MktwNThRXM7a",
	} {
		t.Run(name, func(t *testing.T) {
			if doc, err := did.PeerDocument(id); !errors.Is(err, did.ErrNoKey) {
				t.Errorf("PeerDocument = %v, %v; want ErrNoKey", doc, err)
			}
		})
	}
}

func TestBothFormsOfADIDAreOne(t *testing.T) {
	for id, want := range map[did.ID]did.ID{
		did.ID(peer4):                     peer4short,
		peer4short:                        peer4short,
		peer4short + ":":                  peer4short + ":", // not its document
		peer4short + ":z1":                peer4short + ":z1",
		peer0:                             peer0,
		peer2:                             peer2,
		"did:peer:4zQm:z1":                "did:peer:4zQm:z1",
		"did:web:a:b":                     "did:web:a:b",
		"did:web:peer:4zQm:b":             "did:web:peer:4zQm:b",
		"did:cid:" + peer4short[9:] + ":": "did:cid:" + peer4short[9:] + ":",
	} {
		if got := id.Canonical(); got != want {
			t.Errorf("%.80s is canonically %.80s, want %.80s", id, got, want)
		}
		if got := id.IsShort(); got != (id == peer4short) {
			t.Errorf("%.80s is short: %t", id, got)
		}
	}
}

// BenchmarkLongestPeerDocument is the most work a stranger can ask for by a DID.
func BenchmarkLongestPeerDocument(b *testing.B) {
	id := peer4Of(`{"authentication":[` + signing + `],"service":"` + strings.Repeat("s", 5790) + `"}`)
	if len(id) > did.MaxLength || len(id) < did.MaxLength-100 {
		b.Fatalf("the DID is %d bytes, want nearly %d", len(id), did.MaxLength)
	}
	for b.Loop() {
		if _, err := did.PeerDocument(id); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzPeerDocument(f *testing.F) {
	for _, id := range []string{peer0, peer2, peer2first, peer4, string(peer4short), string(peer4Of(`{"authentication":[` + signing + `]}`))} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		doc, err := did.PeerDocument(did.ID(id))
		wantKeyOrReason(t, doc, err)
		c := did.ID(id).Canonical()
		if c.Canonical() != c || !strings.HasPrefix(id, string(c)) || c.IsShort() && !strings.HasPrefix(id, "did:peer:4z") {
			t.Errorf("%q is canonically %q", id, c)
		}
	})
}
