package main

import (
	"fmt"
	"path/filepath"

	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/identity"
)

// identityCommands are what can be done with an identity file.
type identityCommands struct {
	New  identityNew  `cmd:"" help:"Make an identity, keep its key in a new file, and print its DID."`
	Show identityShow `cmd:"" help:"Print the DID of an identity file."`
}

// identityNew makes an identity.
type identityNew struct {
	File string `placeholder:"FILE" help:"Where to keep it; else ~/.config/holdmail/identity.json."`
}

// Run prints the DID once the file is on the disk.
func (n identityNew) Run() error {
	path, err := identityFile(n.File)
	if err != nil {
		return err
	}
	if n.File == "" {
		if err := durable.MakeFolder(filepath.Dir(path)); err != nil {
			return err
		}
	}
	who, err := identity.Create(path)
	if err != nil {
		return err
	}
	_, err = fmt.Println(who.DID())
	return err
}

// identityShow prints a DID, or the key id that senders write into an envelope.
type identityShow struct {
	File string `placeholder:"FILE" help:"The identity file; else ~/.config/holdmail/identity.json."`
	Kid  bool   `help:"Print the key id instead, which senders write into an envelope."`
}

// Run reads the file and prints one line.
func (s identityShow) Run() error {
	who, err := openIdentity(s.File)
	if err != nil {
		return err
	}
	line := string(who.DID())
	if s.Kid {
		line = who.KeyID()
	}
	_, err = fmt.Println(line)
	return err
}

// openIdentity opens the identity file at path, or the usual one.
func openIdentity(path string) (*identity.Identity, error) {
	path, err := identityFile(path)
	if err != nil {
		return nil, err
	}
	return identity.Open(path)
}

// identityFile is path, or if that is empty the usual one.
func identityFile(path string) (string, error) { return usualFile(path, "identity.json") }
