package appliance

import (
	"math"
	"runtime/debug"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/webhook"
	"github.com/holdmail/holdmail/appliance/flight"
)

// newMemory is the memory that requests share: the setting's, less what the
// engine copies of it for a commit. One source holds a quarter of the setting, or,
// where that is more, what its largest upload takes.
func newMemory(c Config) *flight.Budget {
	return flight.NewBudget(c.MemoryBudget-commitBytes(c), max(c.MemoryBudget/4, uploadMemory(c)))
}

// uploadMemory is the share that the largest upload needs, of an envelope or to a
// webhook.
func uploadMemory(c Config) int64 {
	return flight.ShareFor(max(door.RoomFor(c.UploadLimit), c.Hooks.memory()))
}

// minMemory is the least budget under which the largest upload fits.
func minMemory(c Config) int64 { return commitBytes(c) + flight.TotalFor(uploadMemory(c)) }

// heapLimit is the memory, in bytes, that the relay is well with: what requests,
// connections and tables take when all are full, and as much as half of that for
// garbage. The collector works harder rather than pass it.
func heapLimit(c Config) int64 {
	const itself, connection, entry = 24 << 20, 32 << 10, 512
	limit := itself + c.MemoryBudget + connection*int64(c.MaxConnections) + entry*int64(c.Caps.Challenges+c.MaxSources)
	if c.Engine == "memory" {
		limit += 2*c.Caps.TotalBytes + entry*c.Caps.TotalMessages
	}
	if c.Hooks.On() {
		limit += webhook.HomeBytes + c.Hooks.sealedBytes()
	}
	if c.Hooks.On() && c.Engine == "memory" {
		limit += 2*c.Hooks.Caps.Bytes + entry*c.Hooks.Caps.Deliveries
	}
	return limit
}

// limitHeap sets the runtime's memory limit, unless GOMEMLIMIT did.
func limitHeap(c Config) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(heapLimit(c))
	}
}
