package main

import (
	"errors"
	"net/http"
	"net/url"
	"os"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/onion"
)

// relayFlags say which relay is called, and by which way.
type relayFlags struct {
	URL   string `arg:"" optional:"" help:"The relay's URL; else the relay on this machine."`
	Socks string `placeholder:"HOST:PORT" help:"Call it through a SOCKS5 proxy, such as Tor's at 127.0.0.1:9050."`
}

// address is the URL that is given, or that of the relay that the settings of
// this machine describe.
func (f relayFlags) address() (string, error) {
	if f.URL != "" {
		return f.URL, nil
	}
	config, _, err := appliance.Load(appliance.Flags{}, os.Environ())
	if err != nil {
		return "", err
	}
	return config.LocalURL(), nil
}

// client calls that relay.
func (f relayFlags) client() (*client.Client, error) {
	address, err := f.address()
	if err != nil {
		return nil, err
	}
	c, err := client.New(address)
	switch {
	case err != nil:
		return nil, err
	case f.Socks != "":
		return c, c.Through(f.Socks)
	case isOnion(address) && !hasProxy(address):
		return nil, errors.New("an onion address is reached through Tor alone: give its SOCKS port, such as --socks 127.0.0.1:9050")
	default:
		return c, nil
	}
}

// isOnion reports whether only Tor can find an address.
func isOnion(address string) bool {
	u, err := url.Parse(address)
	return err == nil && onion.Is(u.Hostname())
}

// hasProxy reports whether the environment names a proxy for an address.
func hasProxy(address string) bool {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	proxy, err := http.ProxyFromEnvironment(r)
	return err == nil && proxy != nil
}
