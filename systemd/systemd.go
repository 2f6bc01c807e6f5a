// Package systemd tells the service manager how the relay is doing, and holds
// the unit file it runs under.
//
// It knows nothing of what the relay does, and works without a service manager:
// then there is nobody to tell.
package systemd

import (
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the service answers.
func Ready() error { return notify(daemon.SdNotifyReady) }

// Stopping says that the service is on its way down.
func Stopping() error { return notify(daemon.SdNotifyStopping) }

// Status says in words how the service stands.
func Status(words string) error { return notify("STATUS=" + strings.ReplaceAll(words, "\n", " ")) }

// notify sends state to $NOTIFY_SOCKET, if there is one.
func notify(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}
