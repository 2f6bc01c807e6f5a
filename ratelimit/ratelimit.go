// Package ratelimit keeps budgets: of one source, and of everybody together
// (relay spec §5.2.1). Each is a token bucket: it may be spent at once, and
// refills evenly over its window.
//
// It knows addresses as keys only. What a request costs, who its source is, and
// how a refusal is said are for its callers to decide.
package ratelimit

import (
	"net/netip"
	"time"
)

// Class is a kind of load with budgets of its own, and a unit they are in.
type Class string

// The classes of the DIDComm surface.
const (
	Read    Class = "read"    // in requests
	Deposit Class = "deposit" // in bytes
)

// Budget is what may be spent at once, and again over every Window, in the unit
// of its class. All must be above zero. A budget above 2^31 is counted in larger
// units, the next power of two that makes it fit: costs are rounded up to one,
// the budget down.
type Budget struct {
	PerSource int64
	Global    int64
	Window    time.Duration
}

// Source is whom a charge is for. The zero Source identifies nobody, and shares
// the global budget only.
type Source struct {
	// Key has the per-source budget: an IPv4 address, or the part of an IPv6
	// address that one customer has.
	Key netip.Prefix
	// Ceiling, if valid, has four times as much for all the Keys within it, since
	// whoever has one of them may have them all.
	Ceiling netip.Prefix
}

// ceilingTimes is how many per-source budgets a Ceiling has.
const ceilingTimes = 4

// Options are what a Limiter needs to be told.
type Options struct {
	// Budgets are those of each class. A class without one is free.
	Budgets map[Class]Budget
	// MaxSources is how many Keys are remembered of each class, and how many
	// Ceilings. It must be above zero. A source that finds no place has the global
	// budget only, until one that is remembered has its whole budget back.
	MaxSources int
	// Now must never go back, as time.Now does not within a process: only its
	// wall-clock part may step. It is the default.
	Now func() time.Time
}
