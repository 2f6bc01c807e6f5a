package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/torhost"
	"github.com/holdmail/holdmail/appliance/torrc"
)

const torProxy = "ARCHON_DIDCOMM_TOR_PROXY"

// write makes Tor serve the relay, and tells each change. What is right already
// it leaves alone.
func (s torSetup) write(ctx context.Context, config appliance.Config, service torrc.Service) error {
	if _, err := exec.LookPath("tor"); err != nil {
		return errors.New("there is no Tor on this machine: install it (apt install tor)")
	}
	changed, err := s.writeTorrc(ctx, service)
	if err != nil {
		return asRoot(err)
	}
	opened, err := s.openSocket(ctx, service.Target)
	if err != nil {
		return asRoot(err)
	}
	if err := s.reloadTor(ctx, changed); err != nil {
		return err
	}
	name, err := s.awaitName(ctx)
	if err != nil {
		return err
	}
	named, err := s.writeSettings(name)
	if err != nil {
		return asRoot(err)
	}
	if err := s.restartRelay(ctx, service.Target, opened || named); err != nil {
		return err
	}
	return s.announce(name, config)
}

// writeTorrc puts the block into the torrc, if Tor takes the result.
func (s torSetup) writeTorrc(ctx context.Context, service torrc.Service) (changed bool, err error) {
	f := torhost.File{
		Path:   s.Torrc,
		Backup: s.Torrc + time.Now().UTC().Format(".20060102T150405Z.bak"),
		Check:  func(candidate string) error { return s.verify(ctx, candidate) },
	}
	text, err := f.Read()
	if err != nil {
		return false, err
	}
	merged, err := torrc.Merge(text, service)
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.Torrc, err)
	}
	return replace(f, text, merged)
}

// verify asks Tor whether it takes a torrc.
func (s torSetup) verify(ctx context.Context, candidate string) error {
	args := []string{"--verify-config", "-f", candidate}
	if s.Torrc == systemTorrc && exists(systemDefault) {
		args = append(args, "--defaults-torrc", systemDefault)
	}
	if out, err := exec.CommandContext(ctx, "tor", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s stays as it is, since Tor refuses what it would be: %w\n%s", s.Torrc, err, out)
	}
	return nil
}

// awaitName waits until Tor has made the service.
func (s torSetup) awaitName(ctx context.Context) (name string, err error) {
	fmt.Println("waiting for Tor to name the service ...")
	late := s.await(ctx, func(context.Context) bool {
		name, err = s.name()
		return !errors.Is(err, torhost.ErrNoName)
	})
	if late != nil {
		return "", s.unproved(ctx, errors.Join(err, torhost.Socks(s.Socks)))
	}
	return name, err
}

// writeSettings tells the relay its name, and that it may call others by this Tor
// unless it was told of one already.
func (s torSetup) writeSettings(name string) (changed bool, err error) {
	f := torhost.File{Path: s.EnvFile}
	text, err := f.Read()
	if err != nil {
		return false, err
	}
	set := torhost.SetVariable(text, "HOLDMAIL_ONION_NAME", name)
	if !sets(text, torProxy) {
		set = torhost.SetVariable(set, torProxy, s.Socks)
	}
	return replace(f, text, set)
}

// sets reports whether a file of settings has one of that name.
func sets(text, name string) bool {
	return slices.ContainsFunc(torhost.Variables(text), func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// replace writes text unless it is there already, and tells.
func replace(f torhost.File, old, text string) (changed bool, err error) {
	if old == text {
		fmt.Println("unchanged", f.Path)
		return false, nil
	}
	if err := f.Replace(text); err != nil {
		return false, err
	}
	fmt.Println("wrote", f.Path)
	return true, nil
}

// asRoot is err, with what to do if it is for want of permission.
func asRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run this as root (sudo)", err)
	}
	return err
}
