package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folder keeps an account and its certificates over restarts. Only its owner
// may enter it.
type folder string

// pair reads the pair kept for domain. The clock has no say in it. A pair that
// was never kept is fs.ErrNotExist.
func (f folder) pair(domain string) (*tls.Certificate, error) {
	file := f.file(domain + ".pem")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pair, err := parse(text, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := pair.Leaf.VerifyHostname(domain); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pair, nil
}

// keepPair keeps key and chain, one PEM text, for domain in place of the older.
func (f folder) keepPair(domain string, text []byte) error {
	return f.write(domain+".pem", text)
}

// account reads the key of the account, or makes and keeps one.
func (f folder) account() (crypto.Signer, error) {
	const name = "account.key"
	text, err := os.ReadFile(f.file(name))
	if errors.Is(err, os.ErrNotExist) {
		return f.newAccount(name)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not PEM", f.file(name))
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file(name), err)
	}
	return key, nil
}

func (f folder) newAccount(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	return key, f.write(name, text)
}

// write puts a file in place at once: after a power cut it is the old or the new.
func (f folder) write(name string, text []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(string(f), ".new-") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // fails once it is renamed
	_, err = draft.Write(text)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), f.file(name))
}

func (f folder) file(name string) string { return filepath.Join(string(f), name) }

// keyPEM is key as PEM.
func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
