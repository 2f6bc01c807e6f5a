package appliance

import (
	"fmt"

	"github.com/holdmail/holdmail/appliance/door"
)

// contradictions names the webhook door's settings that are good alone and not
// together; least is the memory budget that all doors need, upload the largest
// body of a deposit. Without a door there are none.
func (h Hooks) contradictions(memory, least, upload int64, bad map[string]bool) (errs []error) {
	if !h.On() {
		return nil
	}
	atMost := func(small string, n int64, large string, limit int64, remark string) {
		if n > limit && !bad[small] && !bad[large] {
			errs = append(errs, fmt.Errorf("%s%s is %d and %s is %d: want the first no larger than the second",
				named(small), remark, n, named(large), limit))
		}
	}
	const sealed = ", sealed at its largest,"
	atMost("HOLDMAIL_HOOK_ADDRESS_DELIVERIES", h.Caps.HookDeliveries, "HOLDMAIL_HOOK_MAX_DELIVERIES", h.Caps.Deliveries, "")
	atMost("HOLDMAIL_HOOK_ADDRESS_BYTES", h.Caps.HookBytes, "HOLDMAIL_HOOK_MAX_BYTES", h.Caps.Bytes, "")
	atMost("HOLDMAIL_HOOK_MAX_BODY", h.sealedBytes(), "HOLDMAIL_HOOK_ADDRESS_BYTES", h.Caps.HookBytes, sealed)
	atMost("HOLDMAIL_HOOK_RATE_PER_ADDRESS", h.PerAddress, "HOLDMAIL_HOOK_RATE", h.PerMinute, "")
	if memory < least && h.memory() > door.RoomFor(upload) && !bad["HOLDMAIL_MEMORY_BUDGET"] && !bad["HOLDMAIL_HOOK_MAX_BODY"] {
		errs = append(errs, fmt.Errorf("%s is %d and %s is %d: want at least %d for the first, so that the largest delivery fits with the copies made of it",
			named("HOLDMAIL_MEMORY_BUDGET"), memory, named("HOLDMAIL_HOOK_MAX_BODY"), h.MaxBody, least))
	}
	return errs
}
