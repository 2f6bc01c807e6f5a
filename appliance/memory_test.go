package appliance

import (
	"testing"

	"github.com/holdmail/holdmail/appliance/door"
)

func TestTheLargestUploadFitsWhereverTheSettingsAreTaken(t *testing.T) {
	for _, upload := range []int64{1, 512 << 10, 5 << 20, 1 << 30} {
		for _, engine := range []string{"bolt", "memory"} {
			c := Config{UploadLimit: upload, Engine: engine}
			c.MemoryBudget = minMemory(c)
			if err := newMemory(c).Begin("ann", nil).Hold(door.RoomFor(upload)); err != nil {
				t.Errorf("%s, uploads of %d bytes, a budget of %d: %v", engine, upload, c.MemoryBudget, err)
			}
		}
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
	if limit := heapLimit(c); limit > 112<<20 {
		t.Errorf("the memory limit is %d MiB", limit>>20)
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
