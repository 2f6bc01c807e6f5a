package torhost

import "strings"

// ClockWrong reports whether Tor's log says, since Tor last reached its network,
// that the clock of this machine is what keeps it from there. The words are those of
// Tor 0.4.9.
func ClockWrong(log string) (wrong bool) {
	there := false // in the network
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "Bootstrapped 0%"):
			there = false
		case strings.Contains(line, "Bootstrapped 100%"):
			wrong, there = false, true
		case strings.Contains(line, "an accurate clock to work"): // so end the warnings of what others say the time is
			wrong = true
		case refusesCertificate(line):
			wrong = wrong || !there // once there, it is another's clock
		}
	}
	return wrong
}

// refusesCertificate reports whether a line is of a certificate that is not valid
// yet, or no more. With a clock that is wrong by much, all are.
func refusesCertificate(line string) bool {
	return strings.Contains(line, "or your clock is wrong") || strings.Contains(line, "At least one certificate expired")
}
