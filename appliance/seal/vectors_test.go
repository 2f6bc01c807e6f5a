package seal

import (
	"bytes"
	"crypto/hpke"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// vector is a published one; testdata says from where.
type vector struct {
	Name string `json:"name"`
	KEM  uint16 `json:"kem_id"`
	KDF  uint16 `json:"kdf_id"`
	AEAD uint16 `json:"aead_id"`
	Info string `json:"info"`
	SKRm string `json:"skRm"`
	PKRm string `json:"pkRm"`
	Enc  string `json:"enc"`
	AAD  string `json:"aad"`
	PT   string `json:"pt"`
	CT   string `json:"ct"`
}

func TestPublishedVectorsOpen(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 3 {
		t.Fatalf("%d vectors, want 3", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			private := v.privateKey(t)
			if got := private.PublicKey().Bytes(); !bytes.Equal(got, unhex(t, v.PKRm)) {
				t.Fatalf("public key %x, want %s", got, v.PKRm)
			}
			got, err := v.recipient(t, private).Open(unhex(t, v.AAD), unhex(t, v.CT))
			if err != nil || !bytes.Equal(got, unhex(t, v.PT)) {
				t.Errorf("opened %x, %v; want %s", got, err, v.PT)
			}
		})
	}
}

// The vectors say nothing unless they are of the suites that the code uses.
func TestVectorsAreOfOurKEMs(t *testing.T) {
	for i, want := range []uint16{32, 25722} {
		if got := forms()[i].kem.ID(); got != want {
			t.Errorf("%s uses kem %d, want %d", forms()[i].tag, got, want)
		}
	}
	if kdf, aead := hpke.HKDFSHA256().ID(), hpke.AES256GCM().ID(); kdf != 1 || aead != 2 {
		t.Errorf("kdf %d, aead %d; want 1, 2", kdf, aead)
	}
}

func (v vector) privateKey(t testing.TB) hpke.PrivateKey {
	t.Helper()
	kem, err := hpke.NewKEM(v.KEM)
	if err != nil {
		t.Fatal(err)
	}
	private, err := kem.NewPrivateKey(unhex(t, v.SKRm))
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func (v vector) recipient(t testing.TB, private hpke.PrivateKey) *hpke.Recipient {
	t.Helper()
	kdf, err := hpke.NewKDF(v.KDF)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := hpke.NewAEAD(v.AEAD)
	if err != nil {
		t.Fatal(err)
	}
	r, err := hpke.NewRecipient(unhex(t, v.Enc), private, kdf, aead, unhex(t, v.Info))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
