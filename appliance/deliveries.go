package appliance

import (
	"strings"

	"github.com/holdmail/holdmail/appliance/egress"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/appliance/outbound"
)

// newTurns bounds the deliveries to other relays. Their envelopes, which also count
// to what all requests may hold, take at most a quarter of that, and those of one
// source an eighth, or, where that is more, what the largest takes: slow relays
// elsewhere must not keep deposits out of this one.
func newTurns(c Config) *outbound.Turns {
	share := max(c.MemoryBudget/8, flight.ShareFor(c.UploadLimit))
	return outbound.NewTurns(c.MaxDeliveries, outbound.Memory{
		Budget:  flight.NewBudget(max(c.MemoryBudget/4, flight.TotalFor(share))),
		Share:   share,
		Waiting: flight.Holder{Name: "deliveries", Most: newMemory(c).share},
	})
}

// newOutbound delivers what is not for box itself.
func newOutbound(c Config, box *mailbox.Service, turns *outbound.Turns) *outbound.Service {
	return &outbound.Service{
		Mailbox: box,
		Courier: egress.NewCourier(egress.Options{Proxy: c.TorProxy, Private: c.DeliverPrivate}),
		Turns:   turns,
		Here:    here(c),
	}
}

// here are the endpoints of this relay, with the base path and without, by the names
// that its owner gave it: a Host header is a stranger's word.
func here(c Config) (here []egress.Endpoint) {
	bases := []string{strings.TrimSuffix(c.PublicURL, c.BasePath)}
	if c.OnionName != "" {
		bases = append(bases, "http://"+c.OnionName)
	}
	for _, base := range bases {
		for _, path := range []string{"", c.BasePath} {
			if e, err := egress.ParseEndpoint(base + path); err == nil {
				here = append(here, e)
			}
		}
	}
	return here
}
