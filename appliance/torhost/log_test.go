package torhost_test

import (
	"testing"

	"github.com/holdmail/holdmail/appliance/torhost"
)

func TestClockWrong(t *testing.T) {
	const (
		behind = "[warn] Our clock is 3 days behind the time published in the consensus network status document.  Tor needs an accurate clock to work correctly.\n"
		skewed = "[warn] Received NETINFO cell with skewed time: It seems that our clock is behind by 3 days. Tor requires an accurate clock to work: please check your time.\n"
		there  = "[notice] Bootstrapped 100% (done): Done\n"
	)
	for _, tt := range []struct {
		log  string
		want bool
	}{
		{"", false},
		{there, false},
		{behind, true},
		{there + skewed, true},
		{behind + there, false},
	} {
		if got := torhost.ClockWrong(tt.log); got != tt.want {
			t.Errorf("ClockWrong(%q) = %v, want %v", tt.log, got, tt.want)
		}
	}
}
