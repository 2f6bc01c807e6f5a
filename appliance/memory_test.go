package appliance

import (
	"net/netip"
	"testing"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/source"
)

func TestTheLargestUploadFitsWhereverTheSettingsAreTaken(t *testing.T) {
	for _, upload := range []int64{1, 512 << 10, 5 << 20, 1 << 30} {
		for _, engine := range []string{"bolt", "memory"} {
			c := Config{UploadLimit: upload, Engine: engine}
			c.MemoryBudget = minMemory(c)
			if err := newMemory(c).begin(source.Source{Entrance: "tcp"}, nil).Hold(door.RoomFor(upload)); err != nil {
				t.Errorf("%s, uploads of %d bytes, a budget of %d: %v", engine, upload, c.MemoryBudget, err)
			}
		}
	}
}

func TestAllOnionCallersTogetherHoldHalfOfTheMemory(t *testing.T) {
	c, _, err := load(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	circuit := func(id string) source.Source {
		return source.Source{Key: netip.MustParsePrefix("fc00:dead:beef:4dad::" + id + "/128"), Entrance: "onion", Onion: true}
	}
	anybody := source.Source{Entrance: "onion", Onion: true}
	eighth := c.MemoryBudget / 8 * 31 / 32 // but for what is left to small loads
	onion := func(circuits ...string) (loads []source.Source) {
		for _, id := range circuits {
			loads = append(loads, circuit(id))
		}
		return loads
	}
	for _, tt := range []struct {
		name  string
		loads []source.Source // of an eighth each
		fit   int
	}{
		{"one circuit", onion("0:1", "0:1", "0:1"), 2},
		{"many circuits", onion("0:1", "0:2", "0:3", "0:4", "0:5"), 4},
		{"callers whom no circuit tells apart", []source.Source{anybody, anybody, anybody, anybody, anybody}, 4},
		{"many circuits, and another way in", append(onion("0:1", "0:2", "0:3", "0:4", "0:5"), source.Source{Entrance: "tcp"}), 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shared, fit := newMemory(c), 0
			for _, from := range tt.loads {
				if shared.begin(from, nil).Hold(eighth) == nil {
					fit++
				}
			}
			if fit != tt.fit {
				t.Errorf("%d eighths are held, want %d", fit, tt.fit)
			}
		})
	}
}

func TestByDefaultASourceHasAQuarterOfTheMemory(t *testing.T) {
	c, _, err := load(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if need := uploadMemory(c); need > c.MemoryBudget/4 {
		t.Errorf("the largest upload needs a share of %d bytes, a quarter is %d", need, c.MemoryBudget/4)
	}
	setup := newKey(t).Setup()
	withHooks := c
	withHooks.Hooks.Setup = &setup
	for _, c := range []Config{c, withHooks} {
		if limit := heapLimit(c); limit > 112<<20 {
			t.Errorf("the memory limit is %d MiB, webhooks %v", limit>>20, c.Hooks.On())
		}
	}
	if need := uploadMemory(withHooks); need > c.MemoryBudget/4 {
		t.Errorf("the largest delivery needs a share of %d bytes, a quarter is %d", need, c.MemoryBudget/4)
	}
}

func TestConnectionsWithinTheLimitOfFiles(t *testing.T) {
	for _, tt := range []struct {
		files  uint64
		wanted int
		want   int
	}{
		{1 << 62, 512, 512},
		{512 + otherFiles, 512, 512},
		{511 + otherFiles, 512, 511},
		{100, 512, 50},
		{1, 512, 1},
	} {
		if got := connectionsWithin(tt.files, tt.wanted); got != tt.want {
			t.Errorf("connectionsWithin(%d, %d) = %d, want %d", tt.files, tt.wanted, got, tt.want)
		}
	}
}
