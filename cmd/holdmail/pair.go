package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/pairing"
	"github.com/holdmail/holdmail/appliance/seal"
)

// pair makes the key that webhook deliveries are sealed for.
type pair struct {
	File        string `placeholder:"FILE" env:"HOLDMAIL_PULL_KEY" help:"Where the key is kept; else ~/.config/holdmail/relay.json."`
	Show        bool   `help:"Make nothing: print the setup code of the key that is there."`
	PostQuantum bool   `help:"Seal so that a quantum computer of later years opens nothing either (ML-KEM-768 with X25519): a code of 1.7 KB, and a kilobyte more each delivery."`
}

// Validate is asked by the command line.
func (p pair) Validate() error {
	if p.Show && p.PostQuantum {
		return errors.New("--show: the key that is there has its kind already; leave --post-quantum out")
	}
	return nil
}

// Run prints the setup code once the key is on the disk. What to do with it goes
// to standard error, so that a script gets the code alone.
func (p pair) Run() error {
	path, err := keyFile(p.File)
	if err != nil {
		return err
	}
	k, err := p.key(path)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(k.Setup().Code()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, `
This is the setup code of %[1]s. It is no secret. Give it to the relay:
    CONCH_RELAY_SETUP=<the code> holdmail serve
or as that line in /etc/holdmail/holdmail.env. Then, on this computer:
    holdmail hook new github
    holdmail pull --relay https://relay.example --to http://127.0.0.1:3000/{hook}
`, path)
	return nil
}

// key opens the key at path, or makes it.
func (p pair) key(path string) (seal.Key, error) {
	if p.Show {
		return openKey(path)
	}
	if p.File == "" {
		if err := durable.MakeFolder(filepath.Dir(path)); err != nil {
			return seal.Key{}, err
		}
	}
	k, err := pairing.Create(path, p.PostQuantum)
	if errors.Is(err, fs.ErrExist) {
		return k, fmt.Errorf("%w: this computer is paired already, and holdmail pair --show prints its setup code", err)
	}
	return k, err
}

// openKey opens the key at path, or says how to make one.
func openKey(path string) (seal.Key, error) {
	k, err := pairing.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, fmt.Errorf("%w: holdmail pair makes it", err)
	}
	return k, err
}

// keyFile is path, or if that is empty the usual one.
func keyFile(path string) (string, error) { return usualFile(path, "relay.json") }
