package appliance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// parseEnviron turns KEY=value lines into a map.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, line := range environ {
		if key, value, ok := strings.Cut(line, "="); ok {
			env[key] = value
		}
	}
	return env
}

// stateFolder is where data goes when nobody says: the service manager's
// folder, else the user's by the XDG base directory convention, else "".
func stateFolder(env map[string]string) string {
	if first, _, _ := strings.Cut(env["STATE_DIRECTORY"], ":"); first != "" {
		return first
	}
	// The convention says that a relative path here is to be ignored.
	if state := env["XDG_STATE_HOME"]; filepath.IsAbs(state) {
		return filepath.Join(state, "holdmail")
	}
	if home := env["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "holdmail")
	}
	return ""
}

// onionSocket is where Tor brings callers when nobody says: in the folder that
// the service manager made for this run; "" without one.
func onionSocket(env map[string]string) string {
	if first, _, _ := strings.Cut(env["RUNTIME_DIRECTORY"], ":"); filepath.IsAbs(first) {
		return filepath.Join(first, "onion.sock")
	}
	return ""
}

// unknown warns of variables that look like ours and are not: a setting
// misspelt is a setting not made. Unknown ARCHON_ variables are other services'.
func unknown(env map[string]string) (warnings []string) {
	known := map[string]bool{}
	for _, s := range settings() {
		known[s.env] = true
	}
	for key := range env {
		ofPull := strings.HasPrefix(key, "HOLDMAIL_PULL_") // the home side, maybe on the same computer
		if strings.HasPrefix(key, "HOLDMAIL_") && !ofPull && !known[key] {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting of this version", key))
		}
	}
	slices.Sort(warnings)
	return warnings
}
