package appliance

import (
	"log/slog"

	"golang.org/x/sys/unix"
)

// otherFiles is how many files the relay has open besides its connections: the
// database, listeners, questions to the Gatekeeper.
const otherFiles = 64

// connections is how many may be open: what c says, or, with a warning, what the
// limit of open files leaves. The Go runtime has raised that as far as it may.
func connections(c Config, log *slog.Logger) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return c.MaxConnections
	}
	most := connectionsWithin(limit.Cur, c.MaxConnections)
	if most < c.MaxConnections {
		log.Warn("the limit of open files leaves fewer connections than HOLDMAIL_MAX_CONNECTIONS", "files", limit.Cur, "connections", most)
	}
	return most
}

// connectionsWithin is how many of the wanted connections so many files allow.
func connectionsWithin(files uint64, wanted int) int {
	if files >= uint64(wanted)+otherFiles {
		return wanted
	}
	return max(int(files)-otherFiles, int(files)/2, 1)
}
