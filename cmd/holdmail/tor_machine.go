package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdmail/holdmail/appliance/torhost"
)

const (
	systemdRuns   = "/run/systemd/system" // is there where systemd runs
	dropIn        = "/etc/systemd/system/holdmail.service.d/tor.conf"
	appArmor      = "/etc/apparmor.d/system_tor"
	appArmorLocal = "/etc/apparmor.d/local/system_tor"
	appArmorRuns  = "/sys/kernel/security/apparmor" // is there where AppArmor runs
)

// managed reports whether the service manager runs both Tor and the relay.
func (s torSetup) managed() bool { return s.Torrc == systemTorrc && exists(systemdRuns) }

// reloadTor lets Tor read its torrc, also where that is unchanged: it costs nothing,
// and an earlier run may have been kept from it.
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
	return command(ctx, "systemctl", "reload-or-restart", unit)
}

// restartRelay lets the relay read its settings, if they changed, now or in an
// earlier run that was kept from restarting it.
func (s torSetup) restartRelay(ctx context.Context, target string, changed bool) error {
	if !s.managed() {
		if changed {
			fmt.Println("now restart the relay, so that it reads its settings")
		}
		return nil
	}
	if !changed && torhost.Entrance(target, s.owner()) == nil && torhost.OpenedSince(target, s.EnvFile, dropIn) {
		return nil
	}
	if err := command(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return command(ctx, "systemctl", "restart", "holdmail.service")
}

// openSocket lets Tor open the relay's socket, from the relay's next start on. Tor
// keeps none of its user's groups but the first, and the relay is to have no part in
// that one, whose members may command Tor: so the service manager gives the socket
// away, which is there before the relay says that it is ready. Where the socket or
// the group is gone one day, the relay starts all the same (-).
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
		"[Service]\nExecStartPost=-+chgrp "+owner.Group+" "+unexpanded(target)+"\n")
	if err != nil {
		return false, err
	}
	return changed, s.confine(ctx, target)
}

// unexpanded is a word of a command line in a unit, where systemd is to replace nothing.
func unexpanded(word string) string {
	return strings.NewReplacer("%", "%%", "$", "$$").Replace(word)
}

// confine adds the socket to what AppArmor lets Tor open, where it confines Tor.
func (s torSetup) confine(ctx context.Context, target string) error {
	f := torhost.File{Path: appArmorLocal}
	text, err := f.Read()
	rule := target + " rw,\n"
	if err != nil || !exists(appArmor) || !exists(filepath.Dir(appArmorLocal)) {
		return err
	}
	allowed := text
	if !strings.Contains(text, rule) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			allowed += "\n"
		}
		allowed += rule
	}
	if _, err := replace(f, text, allowed); err != nil {
		return err
	}
	if !exists(appArmorRuns) {
		return nil // it is read once AppArmor runs
	}
	return command(ctx, "apparmor_parser", "-r", appArmor)
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Clean(path))
	return err == nil
}
