package main

import (
	"os"

	"github.com/holdmail/holdmail/appliance"
	"github.com/holdmail/holdmail/appliance/client"
)

// relayURL is url, or if that is empty the relay that the settings of this
// machine describe.
func relayURL(url string) (string, error) {
	if url != "" {
		return url, nil
	}
	config, _, err := appliance.Load(appliance.Flags{}, os.Environ())
	if err != nil {
		return "", err
	}
	return config.LocalURL(), nil
}

// relayAt is a client of the relay at url, or of this machine's.
func relayAt(url string) (*client.Client, error) {
	url, err := relayURL(url)
	if err != nil {
		return nil, err
	}
	return client.New(url)
}
