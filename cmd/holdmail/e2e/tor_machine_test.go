package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// torMachine makes a machine, in a mount namespace of its own, that has the /etc
// of this one and a service manager that writes down what it is told. Its Tor
// names the service when it is first told to read its torrc.
const torMachine = `set -eu
mount --bind "$PLACE/etc" /etc
mount -t tmpfs none /run
mkdir -p /run/systemd/system
mount -t tmpfs none /var/lib/tor
chown debian-tor: /var/lib/tor
PATH=$PLACE/bin:$PATH
for run in first second; do
	echo "= $run"
	"$HOLDMAIL" tor --write --socks 127.0.0.1:1 --wait 1 2>&1 && exit 1
done
echo = dropin; cat /etc/systemd/system/holdmail.service.d/tor.conf
echo = torrc; tail -n 5 /etc/tor/torrc
echo = settings; cat /etc/holdmail/holdmail.env
`

const torManager = `#!/bin/sh
echo "systemctl $*"  >> "$PLACE/told"
case "$*" in "reload-or-restart tor"*)
	mkdir -m 700 /var/lib/tor/holdmail
	echo pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion > /var/lib/tor/holdmail/hostname
	chown -R debian-tor: /var/lib/tor/holdmail
esac
`

// The relay of this machine does not run, so that the command ends with saying so;
// what it changed until then is all there, and changed once.
func TestTheOwnersCommandSetsUpAMachineWithAServiceManager(t *testing.T) {
	t.Parallel()
	watchSource()
	place := t.TempDir()
	command(t, "cp", "-a", "/etc", place)
	if err := os.Mkdir(filepath.Join(place, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "bin", "systemctl"), []byte(torManager), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", torMachine)
	cmd.Env = append(os.Environ(), "PLACE="+place, "HOLDMAIL="+binary)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"wrote /etc/tor/torrc\n",
		"unchanged /etc/tor/torrc\n",
		"the relay does not listen at /run/holdmail/onion.sock",
		"= dropin\n# By holdmail tor --write: Tor, whose group this is, may open the relay's socket.\n[Service]\nExecStartPost=+chgrp debian-tor /run/holdmail/onion.sock\n",
		"\nHiddenServiceDir /var/lib/tor/holdmail\nHiddenServicePort 80 unix:/run/holdmail/onion.sock\nHiddenServiceExportCircuitID haproxy\n# holdmail: end\n",
		"HOLDMAIL_ONION_NAME=pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion\nARCHON_DIDCOMM_TOR_PROXY=127.0.0.1:1\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	told, err := os.ReadFile(filepath.Join(place, "told"))
	want := "systemctl reload-or-restart tor@default.service\nsystemctl daemon-reload\nsystemctl restart holdmail.service\nsystemctl start tor@default.service\n"
	if string(told) != want || err != nil {
		t.Errorf("the service manager was told\n%s%v\nwant\n%s", told, err, want)
	}
}
