package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/torhost"
	"github.com/holdmail/holdmail/appliance/torrc"
)

const (
	dropIn        = "/etc/systemd/system/holdmail.service.d/tor.conf"
	appArmor      = "/etc/apparmor.d/system_tor"
	appArmorLocal = "/etc/apparmor.d/local/system_tor"
	appArmorRuns  = "/sys/kernel/security/apparmor" // is there where AppArmor runs
	torProxy      = "ARCHON_DIDCOMM_TOR_PROXY"
)

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
	if err := s.restartRelay(ctx, opened || named); err != nil {
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

// openSocket lets Tor open the relay's socket. Tor keeps none of its user's
// groups but the first, and the relay is to have no part in that one, whose members
// may command Tor: so the service manager gives the socket away.
func (s torSetup) openSocket(ctx context.Context, target string) (changed bool, err error) {
	if !filepath.IsAbs(target) || !s.managed() {
		return false, nil
	}
	owner := s.owner()
	if owner.Name == "" {
		return false, fmt.Errorf("it is not known whom Tor runs as: say so in %s by a line such as User debian-tor", s.Torrc)
	}
	f := torhost.File{Path: dropIn}
	text, err := f.Read()
	if err != nil {
		return false, err
	}
	changed, err = replace(f, text, "# By holdmail tor --write: Tor, whose group this is, may open the relay's socket.\n"+
		"[Service]\nExecStartPost=+chgrp "+owner.Group+" "+target+"\n")
	if err != nil {
		return false, err
	}
	return changed, s.confine(ctx, target)
}

// confine adds the socket to what AppArmor lets Tor open, where it confines Tor.
func (s torSetup) confine(ctx context.Context, target string) error {
	f := torhost.File{Path: appArmorLocal}
	text, err := f.Read()
	rule := target + " rw,\n"
	if err != nil || !exists(appArmor) || !exists(filepath.Dir(appArmorLocal)) || strings.Contains(text, rule) {
		return err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := f.Replace(text + rule); err != nil {
		return err
	}
	fmt.Println("wrote", appArmorLocal)
	if !exists(appArmorRuns) {
		return nil // it is read once AppArmor runs
	}
	return command(ctx, "apparmor_parser", "-r", appArmor)
}

// managed reports whether the service manager runs both Tor and the relay.
func (s torSetup) managed() bool { return s.Torrc == systemTorrc && exists(systemdRuns) }

func (s torSetup) reloadTor(ctx context.Context, changed bool) error {
	if !s.managed() {
		if changed {
			fmt.Println("now let Tor read it: start Tor, or send it SIGHUP")
		}
		return nil
	}
	unit := "tor.service"
	if exists("/lib/systemd/system/tor@default.service") {
		unit = "tor@default.service" // of Debian, where tor.service is a name for all
	}
	// Without a name it may be that Tor has not read what an earlier run wrote.
	if _, err := s.name(); changed || errors.Is(err, torhost.ErrNoName) {
		return command(ctx, "systemctl", "reload-or-restart", unit)
	}
	return command(ctx, "systemctl", "start", unit)
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

func (s torSetup) restartRelay(ctx context.Context, changed bool) error {
	switch {
	case !changed:
		return nil
	case !s.managed():
		fmt.Println("now restart the relay, so that it reads its settings")
		return nil
	}
	if err := command(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return command(ctx, "systemctl", "restart", "holdmail.service")
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

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// asRoot is err, with what to do if it is for want of permission.
func asRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run this as root (sudo)", err)
	}
	return err
}
