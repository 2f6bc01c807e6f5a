package seal

import (
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
)

const tokenBytes = 32

// Key is the home computer's half: the private key that opens, and the token that
// drains the relay. Only its JSON holds them: printing a Key does not show them.
type Key struct {
	form    form
	private hpke.PrivateKey
	token   string
}

// NewKey makes a key and a token. A hybrid one holds against computers that break
// X25519 alone.
func NewKey(hybrid bool) (Key, error) {
	f := forms()[0]
	if hybrid {
		f = forms()[1]
	}
	private, err := f.kem.GenerateKey()
	if err != nil {
		return Key{}, err
	}
	token := make([]byte, tokenBytes)
	rand.Read(token) // never fails
	return Key{form: f, private: private, token: encode(token)}, nil
}

// Setup is what the relay is told.
func (k Key) Setup() Setup {
	return Setup{form: k.form, public: k.private.PublicKey(), token: sha256.Sum256([]byte(k.token))}
}

// Token is what proves the home computer to the relay, in a header and nowhere
// else: 32 random bytes in base64url.
func (k Key) Token() string { return k.token }

// String names the key, without its secrets.
func (k Key) String() string { return "key " + k.Setup().KeyID() }

// GoString is String, so that no format shows the secrets.
func (k Key) GoString() string { return k.String() }

// keyJSON is a key as it is kept. The setup code is there for whoever reads the
// file, and ties its three parts together.
type keyJSON struct {
	Setup   string `json:"setup"`
	Private string `json:"privateKey"`
	Token   string `json:"token"`
}

// MarshalJSON writes the key with its secrets.
func (k Key) MarshalJSON() ([]byte, error) {
	private, err := k.private.Bytes()
	if err != nil {
		return nil, err
	}
	return json.Marshal(keyJSON{Setup: k.Setup().Code(), Private: encode(private), Token: k.token})
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses a key whose parts do not
// belong together. Its errors tell nothing of the secrets.
func (k *Key) UnmarshalJSON(b []byte) error {
	var kept keyJSON
	if json.Unmarshal(b, &kept) != nil {
		return errors.New("want JSON with setup, privateKey and token")
	}
	setup, err := ParseSetup(kept.Setup)
	if err != nil {
		return err
	}
	b, err = decode(kept.Private)
	if err != nil {
		return errors.New("privateKey is not base64url")
	}
	private, err := setup.form.kem.NewPrivateKey(b)
	if err != nil {
		return errors.New("privateKey is not of the setup code's version")
	}
	read := Key{form: setup.form, private: private, token: kept.Token}
	if read.Setup().Code() != setup.Code() {
		return errors.New("setup is not the code of this privateKey and token")
	}
	*k = read
	return nil
}
