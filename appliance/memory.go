package appliance

import (
	"math"
	"runtime/debug"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/door/webhook"
	"github.com/holdmail/holdmail/appliance/flight"
	"github.com/holdmail/holdmail/appliance/source"
)

// sharedMemory is what requests share. One source holds one share of it, and all who
// come by the onion hold so much together.
type sharedMemory struct {
	*flight.Budget
	share, onion int64 // bytes
}

// newMemory shares the setting's memory, less what the engine copies of it for a
// commit. A share is a quarter of the setting, and the onion's part half, or,
// where that is more, what the largest upload takes.
func newMemory(c Config) sharedMemory {
	upload := uploadMemory(c)
	return sharedMemory{flight.NewBudget(c.MemoryBudget - commitBytes(c)), max(c.MemoryBudget/4, upload), max(c.MemoryBudget/2, upload)}
}

// begin begins the load of a request from somebody. Those whom nothing tells
// apart have a share together, or the part of the onion they come by.
func (m sharedMemory) begin(from source.Source, end func()) *flight.Load {
	var holders []flight.Holder
	if from.Known() || !from.Onion {
		holders = append(holders, flight.Holder{Name: from.Customer(), Most: m.share})
	}
	if from.Onion {
		holders = append(holders, flight.Holder{Name: from.Entrance, Most: m.onion})
	}
	return m.Begin(end, holders...)
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
