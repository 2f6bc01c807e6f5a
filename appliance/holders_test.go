package appliance

import (
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/storage"
)

func TestShares(t *testing.T) {
	v4 := netip.MustParsePrefix("203.0.113.1/32")
	v6, house := netip.MustParsePrefix("2001:db8:1:2::/64"), netip.MustParsePrefix("2001:db8:1::/48")
	circuit := netip.MustParsePrefix("fc00:dead:beef:4dad::7/128")
	for _, tt := range []struct {
		name string
		all  shares
		from source.Source
		want []storage.Holder
	}{
		{"nobody", 10000, source.Source{Entrance: "tcp"}, nil},
		{"IPv4", 10000, source.Source{Key: v4}, []storage.Holder{{Name: "203.0.113.1/32", Most: 1000}}},
		{"rounded up", 11, source.Source{Key: v4}, []storage.Holder{{Name: "203.0.113.1/32", Most: 2}}},
		{"never none", 1, source.Source{Key: v4}, []storage.Holder{{Name: "203.0.113.1/32", Most: 1}}},
		{"IPv6", 10000, source.Source{Key: v6, Ceiling: house}, []storage.Holder{
			{Name: "2001:db8:1:2::/64", Most: 1000}, {Name: "within 2001:db8:1::/48", Most: 4000}}},
		{"a circuit", 10000, source.Source{Key: circuit, Entrance: "onion", Onion: true}, []storage.Holder{
			{Name: "fc00:dead:beef:4dad::7/128", Most: 1000}, {Name: "onion", Most: 5000}}},
		{"any of the onion's callers", 11, source.Source{Entrance: "onion", Onion: true}, []storage.Holder{{Name: "onion", Most: 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := source.With(httptest.NewRequest("GET", "/api/v1/challenge", nil), tt.from)
			if got := tt.all.holders(r); !slices.Equal(got, tt.want) {
				t.Errorf("holders = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHalfOfTheConnectionsDoNotWait(t *testing.T) {
	for _, tt := range []struct{ setting, connections, want int }{{256, 512, 256}, {256, 300, 150}, {10, 512, 10}, {0, 512, 0}} {
		if got := maxWaiters(Config{MaxWaiters: tt.setting}, tt.connections); got != tt.want {
			t.Errorf("%d waiters and %d connections: %d may wait, want %d", tt.setting, tt.connections, got, tt.want)
		}
	}
}
