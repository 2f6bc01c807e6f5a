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
mkdir -p /run/systemd/system /run/holdmail
mount -t tmpfs none /var/lib/tor
chown debian-tor: /var/lib/tor
mkdir -p /etc/holdmail
echo "ARCHON_DIDCOMM_PORT=$PORT" > /etc/holdmail/holdmail.env
PATH=$PLACE/bin:$PATH
for run in first second third; do
	echo "= $run" | tee -a "$PLACE/told"
	env -u HOME -u XDG_STATE_HOME "$HOLDMAIL" tor --write --socks 127.0.0.1:1 --wait 1 2>&1 && exit 1
done
kill "$(cat "$PLACE/relay")"
echo = dropin; cat /etc/systemd/system/holdmail.service.d/tor.conf
echo = torrc; tail -n 5 /etc/tor/torrc
echo = settings; cat /etc/holdmail/holdmail.env
`

// torManager cannot start the relay at the first try, and can at the second: as the
// unit says, with its drop-in.
const torManager = `#!/bin/sh
echo "systemctl $*"  >> "$PLACE/told"
case "$*" in
"reload-or-restart tor"*)
	[ ! -e /var/lib/tor/holdmail ] || exit 0
	mkdir -m 700 /var/lib/tor/holdmail
	echo pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion > /var/lib/tor/holdmail/hostname
	chown -R debian-tor: /var/lib/tor/holdmail
	;;
"restart holdmail.service")
	mkdir "$PLACE/tried" 2> /dev/null && exit 1
	export NOTIFY_SOCKET= RUNTIME_DIRECTORY=/run/holdmail STATE_DIRECTORY="$PLACE/state" $(cat /etc/holdmail/holdmail.env)
	"$HOLDMAIL" serve > "$PLACE/log" 2>&1 &
	echo $! > "$PLACE/relay"
	until [ -S /run/holdmail/onion.sock ]; do kill -0 $! || exit 1; done
	$(sed -n s/^ExecStartPost=-+//p /etc/systemd/system/holdmail.service.d/tor.conf)
esac
`

// The relay cannot be restarted in the first run, which the second makes up for. By
// then Tor's SOCKS port is all that is missing: each run ends with saying so, and what
// it changed until then is all there, and changed once.
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
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", torMachine)
	cmd.Env = append(os.Environ(), "PLACE="+place, "HOLDMAIL="+binary, "PORT="+port)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"wrote /etc/tor/torrc\n",
		"systemctl restart holdmail.service: exit status 1\n\n= second\n",
		"unchanged /etc/tor/torrc\n",
		"= third\n",
		"nobody listens at 127.0.0.1:1, Tor's SOCKS port",
		"= dropin\n# By holdmail tor --write: Tor, whose group this is, may open the relay's socket.\n[Service]\nExecStartPost=-+chgrp debian-tor /run/holdmail/onion.sock\n",
		"\nHiddenServiceDir /var/lib/tor/holdmail\nHiddenServicePort 80 unix:/run/holdmail/onion.sock\nHiddenServiceExportCircuitID haproxy\n# holdmail: end\n",
		"= settings\nARCHON_DIDCOMM_PORT=" + port + "\nHOLDMAIL_ONION_NAME=pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion\nARCHON_DIDCOMM_TOR_PROXY=127.0.0.1:1\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	told, err := os.ReadFile(filepath.Join(place, "told"))
	const toTor, toRelay = "systemctl reload-or-restart tor@default.service\n", "systemctl daemon-reload\nsystemctl restart holdmail.service\n"
	want := "= first\n" + toTor + toRelay + "= second\n" + toTor + toRelay + "= third\n" + toTor
	if string(told) != want || err != nil {
		t.Errorf("the service manager was told\n%s%v\nwant\n%s", told, err, want)
	}
}
