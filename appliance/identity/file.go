package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/durable"
)

const (
	fileMode = 0o600
	maxFile  = 64 << 10 // bytes
)

// ErrExposed is wrapped with the name of a file that others than its owner may
// use: its key may be known already.
var ErrExposed = errors.New("others may use this identity file: make a new identity, or take their rights away (chmod 600)")

// file is the form of an identity file: the DID, and its key as a JWK (RFC 8812
// §3.1), which other programs read as well.
type file struct {
	DID did.ID `json:"did"`
	Key jwk    `json:"privateKeyJwk"`
}

// jwk is a private key of secp256k1, its numbers in base64url.
type jwk struct {
	Type    string `json:"kty"`
	Curve   string `json:"crv"`
	X       string `json:"x"`
	Y       string `json:"y"`
	Private string `json:"d"`
}

// Create makes an identity and keeps it in a new file that only its owner may
// use. It never writes over a file that is there. Once it returns nil the file
// survives a crash.
func Create(path string) (*Identity, error) {
	i, err := New()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(i.write(f), f.Close()); err != nil {
		os.Remove(path) // nobody knows its DID yet
		return nil, err
	}
	return i, durable.SyncNames(filepath.Dir(path))
}

func (i *Identity) write(f *os.File) error {
	b, err := json.MarshalIndent(i.file(), "", "  ")
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

// Open reads the identity in a file. One that is open to others is ErrExposed.
func Open(path string) (*Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() || stat.Size() > maxFile {
		return nil, fmt.Errorf("%s is no identity file", path)
	}
	if stat.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrExposed)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	i, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s is no identity file: %w", path, err)
	}
	return i, nil
}

// parse reads the form of an identity file. Its errors tell nothing of the key.
func parse(b []byte) (*Identity, error) {
	var f file
	if json.Unmarshal(b, &f) != nil {
		return nil, errors.New("want JSON with did and privateKeyJwk")
	}
	if f.Key.Type != "EC" || f.Key.Curve != "secp256k1" {
		return nil, errors.New("want a key of type EC on the curve secp256k1")
	}
	d, err := base64.RawURLEncoding.DecodeString(f.Key.Private)
	if err != nil || len(d) != secp256k1.PrivKeyBytesLen {
		return nil, errors.New("want d as 32 bytes in base64url")
	}
	var number secp256k1.ModNScalar
	if overflow := number.SetByteSlice(d); overflow || number.IsZero() {
		return nil, errors.New("d is not a number of this curve")
	}
	key := secp256k1.NewPrivateKey(&number)
	i := &Identity{id: did.KeyDID(key.PubKey()), key: key}
	if f.DID != i.id {
		return nil, errors.New("did is not the did:key of its key")
	}
	return i, nil
}

// file is the identity as it is kept.
func (i *Identity) file() file {
	point := i.key.PubKey().SerializeUncompressed() // 0x04, x, y
	return file{DID: i.id, Key: jwk{
		Type:    "EC",
		Curve:   "secp256k1",
		X:       base64.RawURLEncoding.EncodeToString(point[1:33]),
		Y:       base64.RawURLEncoding.EncodeToString(point[33:]),
		Private: base64.RawURLEncoding.EncodeToString(i.key.Serialize()),
	}}
}
