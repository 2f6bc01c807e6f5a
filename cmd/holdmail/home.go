package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdmail/holdmail/appliance/pull"
	"github.com/holdmail/holdmail/appliance/seal"
	"github.com/holdmail/holdmail/systemd"
)

const (
	ledgerName = "pull-ledger.db"
	statusName = "pull-status.json"
)

// home is this computer, as the flags describe it.
type home struct {
	key   seal.Key
	relay *pull.Relay
	hooks string // a file
	state string // a folder
}

func (f homeFlags) open() (h home, err error) {
	path, err := keyFile(f.Key)
	if err != nil {
		return h, err
	}
	if h.key, err = openKey(path); err != nil {
		return h, err
	}
	if h.relay, err = pull.NewRelay(f.Relay, h.key.Token(), f.Socks); err != nil {
		return h, fmt.Errorf("--relay: %w", err)
	}
	if h.hooks, err = hooksFile(f.Hooks); err != nil {
		return h, err
	}
	h.state, err = stateFolder(f.State)
	return h, err
}

// stateFolder is path, or if that is empty the usual place for what a program keeps.
func stateFolder(path string) (string, error) {
	for _, folder := range []string{path, os.Getenv("STATE_DIRECTORY")} {
		if folder != "" {
			return folder, nil
		}
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "holdmail"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no usual place for the ledger, so name one with --state: %w", err)
	}
	return filepath.Join(user, ".local", "state", "holdmail"), nil
}

// statusFile is where a pull says how it stands, for doctor.
type statusFile struct {
	path    string
	log     *slog.Logger
	said    string    // to the service manager
	written time.Time // when the file was
}

const rewrite = 10 * time.Second // when nothing but a time or a count changed

// tell says what is new. The file need not survive a crash.
func (f *statusFile) tell(s pull.Status) {
	words := inWords(s)
	if words == f.said && time.Since(f.written) < rewrite {
		return
	}
	if words != f.said {
		if err := systemd.Status(words); err != nil {
			f.log.Warn("the service manager does not hear", "err", err)
		}
	}
	f.said, f.written = words, time.Now()
	if err := f.write(s); err != nil {
		f.log.Warn("how it stands cannot be written down for holdmail doctor", "err", err)
	}
}

func (f *statusFile) write(s pull.Status) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}

// inWords is a line of how a pull stands.
func inWords(s pull.Status) string {
	switch {
	case s.Trouble != "":
		return s.Trouble
	case s.Handler != "":
		return s.Handler
	case s.RefusedForTime > 0:
		return "deliveries are refused for their time: the clocks of relay and home differ"
	default:
		return "waiting for deliveries"
	}
}

// readStatus reads what a pull wrote; nil if none did.
func readStatus(folder string) (*pull.Status, error) {
	b, err := os.ReadFile(filepath.Join(folder, statusName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s pull.Status
	return &s, json.Unmarshal(b, &s)
}
