#!/bin/sh
# Builds holdmail from this folder and installs it. Running it again upgrades.
set -eu

usage() {
	cat <<'END'
usage: sh install.sh [--run | --pull] [--prefix DIR]

Builds holdmail, which needs Go 1.26, and installs one static binary:
  as root where systemd runs   /usr/local/bin/holdmail, as the service "holdmail"
  as root elsewhere            /usr/local/bin/holdmail
  as anybody else              ~/.local/bin/holdmail

  --run         then start the relay in the foreground, unless it is now a service
  --pull        for a home computer, not as root: ~/.local/bin/holdmail, and
                holdmail pull as a service of yours
  --prefix DIR  install DIR/bin/holdmail and no service
  --help        print this
END
}

say() { printf '%s\n' "$*"; }

die() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

# Any Go since 1.21 fetches the one that go.mod asks for, if it may.
need_go() {
	command -v go >/dev/null 2>&1 || die "Go 1.26 is needed and there is no go command; see https://go.dev/doc/install"
	found=$(cd "$source" && go env GOVERSION) || die "Go 1.26 is needed; see https://go.dev/doc/install"
	minor=${found#go1.}
	minor=${minor%%[!0-9]*}
	[ "${minor:-0}" -ge 26 ] || die "Go 1.26 is needed and this is $found; see https://go.dev/doc/install"
}

# The new binary takes the old one's place at once, also under a running relay.
install_binary() {
	version=$(cd "$source" && git describe --tags --always --dirty 2>/dev/null) || version=
	mkdir -p "$bin"
	(cd "$source" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$bin/holdmail.new" ./cmd/holdmail)
	mv -f "$bin/holdmail.new" "$bin/holdmail"
	say "installed $bin/holdmail"
}

install_service() {
	install -m 0644 "$source/systemd/holdmail.service" /etc/systemd/system/holdmail.service
	systemctl daemon-reload
	systemctl enable --quiet holdmail
	systemctl restart holdmail || die "the service does not start; see journalctl -u holdmail"
	say "the service holdmail runs; settings go into /etc/holdmail/holdmail.env, its log is journalctl -u holdmail"
}

# A user's own service, which needs settings before it can start.
install_pull() {
	config=${XDG_CONFIG_HOME:-$HOME/.config}
	mkdir -p "$config/systemd/user"
	(umask 077 && mkdir -p "$config/holdmail")
	install -m 0644 "$source/systemd/holdmail-pull.service" "$config/systemd/user/holdmail-pull.service"
	if [ ! -e "$config/holdmail/pull.env" ]; then
		(umask 077 && cat >"$config/holdmail/pull.env") <<'END'
# Where the relay is, and where its deliveries go; {hook} is the name of the hook.
#HOLDMAIL_PULL_RELAY=https://relay.example
#HOLDMAIL_PULL_TO=http://127.0.0.1:3000/{hook}
END
	fi
	systemctl --user daemon-reload 2>/dev/null || true # no user manager in a bare shell
	say "settings of holdmail pull go into $config/holdmail/pull.env"
	say "pair with the relay:            $bin/holdmail pair"
	say "make an address:                $bin/holdmail hook new github"
	say "start it now and at each login: systemctl --user enable --now holdmail-pull"
	say "and without a login:            loginctl enable-linger"
}

run=no
pull=no
prefix=
while [ $# -gt 0 ]; do
	case $1 in
	--run) run=yes ;;
	--pull) pull=yes ;;
	--prefix)
		[ $# -ge 2 ] || die "--prefix needs a folder"
		prefix=$2
		shift
		;;
	--help)
		usage
		exit 0
		;;
	*) die "unknown argument $1; see install.sh --help" ;;
	esac
	shift
done

case $0 in
*/*) source=$(cd "${0%/*}" && pwd) ;;
*) source=$PWD ;;
esac
[ -f "$source/go.mod" ] || die "run it from the folder of the source"
need_go

if [ $pull = yes ]; then
	[ $run = no ] || die "--pull is for the home computer and --run for the relay: take one"
	[ -z "$prefix" ] || die "--pull installs into ~/.local: leave --prefix out"
	[ "$(id -u)" -ne 0 ] || die "--pull is for the user whose deliveries they are, not for root"
fi

service=no
if [ -n "$prefix" ]; then
	mkdir -p "$prefix"
	bin=$(cd "$prefix" && pwd)/bin
elif [ "$(id -u)" -eq 0 ]; then
	bin=/usr/local/bin
	[ ! -d /run/systemd/system ] || service=yes
else
	[ -n "${HOME:-}" ] || die "HOME is unset; use --prefix"
	bin=$HOME/.local/bin
fi

install_binary
if [ $pull = yes ]; then
	install_pull
elif [ $service = yes ]; then
	install_service
	[ $run = no ] || say "it answers already, so that --run starts no second one"
elif [ $run = yes ]; then
	exec "$bin/holdmail" serve
else
	say "start it with: $bin/holdmail serve"
fi
