package seal

import (
	"crypto/hpke"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Setup is what a relay is told about its home computer: the public key, and the
// SHA-256 of the token that the home computer proves itself with. Neither is a
// secret. The zero Setup seals nothing and admits nobody.
type Setup struct {
	form   form
	public hpke.PublicKey
	token  [sha256.Size]byte // its hash
}

// ParseSetup reads a setup code, as Code writes it. White space around it is
// forgiven, since codes are copied by hand.
func ParseSetup(code string) (Setup, error) {
	parts := strings.Split(strings.TrimSpace(code), ".")
	if len(parts) != 3 {
		return Setup{}, errors.New("a setup code has three parts with dots between them, such as hm1.KEY.HASH: copy it whole from holdmail pair")
	}
	f, err := formOf(parts[0])
	if err != nil {
		return Setup{}, err
	}
	public, err := parsePublic(f.kem, parts[1])
	if err != nil {
		return Setup{}, fmt.Errorf("the setup code's second part is no public key for %s: %w", f.tag, err)
	}
	hash, err := decode(parts[2])
	if err != nil || len(hash) != sha256.Size {
		return Setup{}, errors.New("the setup code's third part is not the SHA-256 of a token in base64url")
	}
	return Setup{form: f, public: public, token: [sha256.Size]byte(hash)}, nil
}

func formOf(tag string) (form, error) {
	for _, f := range forms() {
		if f.tag == tag {
			return f, nil
		}
	}
	return form{}, fmt.Errorf("a setup code starts with hm1 or hm2, and this one with %.10q", tag)
}

// parsePublic reads a public key, and seals to it once: some points of the curve
// parse and can never be sealed to.
func parsePublic(kem hpke.KEM, text string) (hpke.PublicKey, error) {
	b, err := decode(text)
	if err != nil {
		return nil, errors.New("it is not base64url")
	}
	public, err := kem.NewPublicKey(b)
	if err != nil {
		return nil, err
	}
	_, _, err = hpke.NewSender(public, hpke.HKDFSHA256(), hpke.AES256GCM(), nil)
	return public, err
}

// Code is the setup code: version, public key, and hash of the token.
func (s Setup) Code() string {
	return s.form.tag + "." + encode(s.public.Bytes()) + "." + encode(s.token[:])
}

// KeyID names the public key: the first 16 hex digits of its SHA-256.
func (s Setup) KeyID() string {
	sum := sha256.Sum256(s.public.Bytes())
	return hex.EncodeToString(sum[:8])
}

// Admits tells whether this is the home computer's token. How long it takes tells
// nothing of how close a wrong one is.
func (s Setup) Admits(token string) bool {
	hash := sha256.Sum256([]byte(token))
	return s.public != nil && subtle.ConstantTimeCompare(hash[:], s.token[:]) == 1
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode takes one spelling of the bytes only.
func decode(text string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(text) }
