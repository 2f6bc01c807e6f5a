package client_test

import (
	"testing"

	"github.com/holdmail/holdmail/appliance/client"
)

func TestThroughWantsAnAddressAndAPort(t *testing.T) {
	for socks, good := range map[string]bool{
		"127.0.0.1:9050": true, "[::1]:9050": true, "localhost:9050": true,
		"": false, "9050": false, ":9050": false, "127.0.0.1": false, "127.0.0.1:0": false, "127.0.0.1:tor": false, "127.0.0.1:99999": false,
	} {
		if err := newClient(t, "http://relay.example").Through(socks); (err == nil) != good {
			t.Errorf("Through(%q) = %v, want an error: %v", socks, err, !good)
		}
	}
}

func TestAProxyThatIsNotThereIsPassing(t *testing.T) {
	_, base := newRelay(t)
	c := newClient(t, base)
	if err := c.Through("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Health(t.Context()); !client.Temporary(err) {
		t.Errorf("Health past an absent proxy = %v, want an error that may pass", err)
	}
}
