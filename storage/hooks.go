package storage

import "time"

// Hook is the address of a webhook as it is kept: the SHA-256 of its id. The id
// itself opens the door to whoever knows it, and is kept nowhere.
type Hook [32]byte

// Delivery is one request to a webhook, sealed for the home computer.
type Delivery struct {
	ID       string    // from Reserve; names the delivery to the home computer only
	Hook     Hook      // the address it came to
	Received time.Time // from Reserve, UTC, to the millisecond
	Sealed   []byte    // kept byte for byte
}

// Kept is a delivery as it is listed, without its bytes.
type Kept struct {
	ID       string
	Hook     Hook
	Received time.Time
	Size     int64 // of what is sealed, in bytes
}

// HookCaps bound the deliveries that an engine keeps. All are exact and
// inclusive, count sealed bytes, and must be above zero. They know nothing of the
// mail's Caps, nor these of them.
type HookCaps struct {
	Deliveries     int64 // over all addresses
	Bytes          int64 // over all addresses
	HookDeliveries int64 // per address
	HookBytes      int64 // per address
}

// HookTotals is what an engine holds of deliveries, expired ones that are not yet
// shed included.
type HookTotals struct {
	Deliveries int64
	Bytes      int64
}
