package appliance

import (
	"context"
	"runtime/debug"
)

// tidy gives back to the machine what calls have left behind, whenever a crowd has
// come, until ctx ends. Those who wait for mail hold their connections for long, and
// between them lies what reading and verifying their calls took: the runtime would
// let it lie until there is as much of it as of everything else.
func tidy(ctx context.Context, crowds <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-crowds:
			debug.FreeOSMemory()
		}
	}
}
