package appliance

import (
	"slices"
	"testing"
)

func TestThisRelaysOwnEndpoints(t *testing.T) {
	for _, tt := range []struct {
		url, onion, base string
		want             []string
	}{
		{"", "", "/didcomm", nil},
		{"https://relay.example", "", "/didcomm", []string{"https://relay.example", "https://relay.example/didcomm"}},
		{"https://relay.example/didcomm", "", "/didcomm", []string{"https://relay.example", "https://relay.example/didcomm"}},
		{"http://192.168.1.5:4236/mail", "", "/didcomm", []string{"http://192.168.1.5:4236/mail", "http://192.168.1.5:4236/mail/didcomm"}},
		{"", "Relay.onion", "/x", []string{"http://relay.onion", "http://relay.onion/x"}},
		{"https://relay.example", "relay.onion", "", []string{"https://relay.example", "http://relay.onion"}},
	} {
		var got []string
		for _, e := range here(Config{PublicURL: tt.url, OnionName: tt.onion, BasePath: tt.base}) {
			got = append(got, e.String())
		}
		if got = slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
