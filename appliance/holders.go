package appliance

import (
	"net/http"

	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/storage"
)

// shares is how many there may be at one time of what all share, live challenges
// or fetches that wait, of which each source has a share: the read budget alone
// would let one stranger hold them all.
type shares int

// holders are those to whom it counts what r asks for: a source a tenth of all, the
// networks of one customer together four tenths, as with the budgets, and all who
// come by the onion a half. Other callers who identify nobody have all.
func (all shares) holders(r *http.Request) (holders []storage.Holder) {
	from := source.Of(r)
	if from.Known() {
		holders = append(holders, storage.Holder{Name: from.Key.String(), Most: all.tenths(1)})
	}
	if from.Ceiling.IsValid() {
		holders = append(holders, storage.Holder{Name: "within " + from.Ceiling.String(), Most: all.tenths(4)})
	}
	if from.Onion {
		holders = append(holders, storage.Holder{Name: from.Entrance, Most: max(int(all)/2, 1)})
	}
	return holders
}

// tenths of all, rounded up.
func (all shares) tenths(n int) int {
	return (int(all)*n + 9) / 10
}

// maxWaiters is how many fetches may wait over so many connections. Half of these
// stay for those who do not wait: a connection with a fetch that waits cannot be
// closed for another.
func maxWaiters(c Config, connections int) int { return min(c.MaxWaiters, connections/2) }
