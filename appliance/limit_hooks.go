package appliance

import (
	"net/http"
	"net/netip"

	"github.com/holdmail/holdmail/ratelimit"
	"github.com/holdmail/holdmail/storage"
)

// The classes of the webhook door, besides that of reads.
const (
	deliveryClass ratelimit.Class = "delivery" // in deliveries; an address is a source
	homeClass     ratelimit.Class = "home"     // in calls
)

// homeCalls is how many calls the home computer may make for each delivery that the
// budget of all lets in: more than it needs to take them one by one.
const homeCalls = 5

// Stranger charges a call of one who names no address and has no token, as a read.
func (l *limit) Stranger(r *http.Request) error {
	_, err := l.take(r, ratelimit.Read, payer(r))
	return err
}

// Delivery charges a delivery to its address, whoever sends it.
func (l *limit) Delivery(r *http.Request, hook storage.Hook) (giveBack func(), err error) {
	receipt, err := l.take(r, deliveryClass, ratelimit.Source{Key: addressKey(hook)})
	if err != nil || receipt == nil {
		return func() {}, err
	}
	return receipt.GiveBack, nil
}

// Home charges a call of the home computer, which shares that budget with nobody.
func (l *limit) Home(r *http.Request) error {
	_, err := l.take(r, homeClass, ratelimit.Source{})
	return err
}

// take charges one call. The receipt is nil if budgets are off.
func (l *limit) take(r *http.Request, class ratelimit.Class, from ratelimit.Source) (*ratelimit.Receipt, error) {
	if l == nil {
		return nil, nil
	}
	receipt, err := l.budgets.Take(class, from, 1)
	if err != nil {
		return nil, overBudget(err, hasBody(r))
	}
	return receipt, nil
}

// addressKey stands for a webhook's address where budgets know sources by a prefix:
// as many bits of a hash are as good.
func addressKey(hook storage.Hook) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte(hook[:])), 128)
}
