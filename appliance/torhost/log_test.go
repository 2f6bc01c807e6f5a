package torhost_test

import (
	"testing"

	"github.com/holdmail/holdmail/appliance/torhost"
)

func TestClockWrong(t *testing.T) {
	// As Tor 0.4.9 wrote them, on a network of its own, with a clock that was wrong by
	// three days, by five years, and by three days to the other side.
	const (
		begun   = "[notice] Bootstrapped 0% (starting): Starting\n"
		there   = "[notice] Bootstrapped 100% (done): Done\n"
		behind  = "[warn] Our clock is 2 days, 23 hours, 59 minutes behind the time published in the consensus network status document (2026-12-01 01:24:20 UTC).  Tor needs an accurate clock to work correctly. Please check your time and date settings!\n"
		skewed  = "[warn] Received NETINFO cell with skewed time (OR:127.0.0.1:25824): It seems that our clock is behind by 3 days, 0 hours, 0 minutes, or that theirs is ahead. Tor requires an accurate clock to work: please check your time, timezone, and date settings.\n"
		early   = "[warn] Certificate not yet valid. Either their clock is set wrong, or your clock is wrong.\n"
		expired = "[warn] Received a bad CERTS cell: At least one certificate expired.\n"
		other   = "[warn] Problem bootstrapping. Stuck at 14% (handshake): Handshaking with a relay. (NOROUTE; NOROUTE; count 10; recommendation warn; host ? at ?)\n"
	)
	for _, tt := range []struct {
		log  string
		want bool
	}{
		{"", false},
		{begun + there, false},
		{begun + other, false},
		{begun + behind, true},
		{begun + there + skewed, true},
		{behind + begun + there, false},
		{begun + early, true},
		{begun + expired + other, true},
		{begun + early + there, false},
		{begun + there + early + expired, false}, // theirs, then
		{begun + there + begun + early, true},
		{early, true},
	} {
		if got := torhost.ClockWrong(tt.log); got != tt.want {
			t.Errorf("ClockWrong(%q) = %v, want %v", tt.log, got, tt.want)
		}
	}
}
