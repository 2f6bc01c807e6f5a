package torhost

import "strings"

// ClockWrong reports whether Tor's log says, since Tor last reached its network,
// that the clock of this machine is what keeps it from there.
func ClockWrong(log string) (wrong bool) {
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "Bootstrapped 100%"):
			wrong = false
		case strings.Contains(line, "an accurate clock to work"): // so it ends both of its warnings (Tor 0.4.9)
			wrong = true
		}
	}
	return wrong
}
