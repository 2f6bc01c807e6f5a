package identity

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
)

// jwe is a JWE in its general form (RFC 7516 §7.2.1).
type jwe struct {
	Protected  string      `json:"protected"`
	Recipients []recipient `json:"recipients"`
	IV         string      `json:"iv"`
	Ciphertext string      `json:"ciphertext"`
	Tag        string      `json:"tag"`
}

type recipient struct {
	Header       header `json:"header"`
	EncryptedKey string `json:"encrypted_key"`
}

type header struct {
	KeyID string `json:"kid"`
}

// SampleEnvelope returns an envelope addressed to kids that looks in every part
// like an encrypted one but holds size random bytes and no message: nobody can
// open it. It is for trying out a relay, which must carry it all the same.
func SampleEnvelope(size int, kids ...string) []byte {
	protected := `{"typ":"application/didcomm-encrypted+json","alg":"ECDH-ES+A256KW","enc":"A256GCM"}`
	e := jwe{
		Protected:  base64.RawURLEncoding.EncodeToString([]byte(protected)),
		IV:         random(12),
		Ciphertext: random(size),
		Tag:        random(16),
	}
	for _, kid := range kids {
		e.Recipients = append(e.Recipients, recipient{Header: header{KeyID: kid}, EncryptedKey: random(40)})
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic("identity: " + err.Error()) // strings always marshal
	}
	return b
}

// random is n random bytes in base64url.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
