package appliance

import (
	"context"
	"strings"

	"github.com/holdmail/holdmail/appliance/door/webhook"
	"github.com/holdmail/holdmail/appliance/hookbox"
)

// openHooks reads the addresses of webhooks back, over at most so many connections;
// nil without a setup code.
func openHooks(c Config, stores stores, connections int) (*hookbox.Service, error) {
	if !c.Hooks.On() {
		return nil, nil
	}
	return hookbox.Open(context.Background(), hookbox.Options{
		Store:   stores.hooks,
		Sealer:  c.Hooks.Setup,
		MaxLive: min(c.Hooks.MaxLive, connections/8),
	})
}

// hookDoor puts the webhook door on top of the hookbox. Deliveries that wait for
// memory may be on a quarter of the connections: with the fetches and the senders
// that wait, an eighth is left for those who do not.
func (a *Appliance) hookDoor(budgets *limit) table {
	hooks := webhook.New(webhook.Options{
		Box:       a.hooks,
		Setup:     a.config.Hooks.Setup,
		Budgets:   budgets,
		PublicURL: a.hookURL(),
		MaxBody:   a.config.Hooks.MaxBody,
		MaxQueue:  a.connections / 4,
		Caps:      a.config.Hooks.Caps,
	})
	return table{hooks.Routes(), hooks.Rules()}
}

// hookURL is what the URLs of webhooks begin with, "" when each sender's call tells.
func (a *Appliance) hookURL() string {
	return strings.TrimSuffix(a.config.PublicURL, a.config.BasePath)
}
