package appliance

import (
	"errors"
	"fmt"

	"github.com/holdmail/holdmail/appliance/door"
)

// contradictions names the settings that are good alone and not together. Those
// in bad were refused already, and are not compared. maxMap is the most
// a process of this build can map of a file, in bytes.
func contradictions(c Config, bad map[string]bool, maxMap int64) (errs []error) {
	atMost := func(small string, n int64, large string, limit int64) {
		if n > limit && !bad[small] && !bad[large] {
			errs = append(errs, fmt.Errorf("%s is %d and %s is %d: want the first no larger than the second",
				named(small), n, named(large), limit))
		}
	}
	atMost("ARCHON_DIDCOMM_UPLOAD_LIMIT", c.UploadLimit, "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES", c.Caps.RecipientBytes)
	atMost("ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES", c.Caps.RecipientBytes, "ARCHON_DIDCOMM_MAX_TOTAL_BYTES", c.Caps.TotalBytes)
	atMost("HOLDMAIL_MAX_RECIPIENT_MESSAGES", c.Caps.RecipientMessages, "HOLDMAIL_MAX_MESSAGES", c.Caps.TotalMessages)
	atMost("ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE", c.ReadPerSource, "ARCHON_DRAWBRIDGE_DIDCOMM_READ_GLOBAL", c.ReadGlobal)
	atMost("ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_PER_SOURCE_BYTES", c.DepositPerSource, "ARCHON_DRAWBRIDGE_DIDCOMM_DEPOSIT_GLOBAL_BYTES", c.DepositGlobal)
	if least := minMemory(c); c.MemoryBudget < least && c.Hooks.memory() <= door.RoomFor(c.UploadLimit) && !bad["HOLDMAIL_MEMORY_BUDGET"] && !bad["ARCHON_DIDCOMM_UPLOAD_LIMIT"] {
		errs = append(errs, fmt.Errorf("%s is %d and %s is %d: want at least %d for the first, so that the largest upload fits with the copies made of it",
			named("HOLDMAIL_MEMORY_BUDGET"), c.MemoryBudget, named("ARCHON_DIDCOMM_UPLOAD_LIMIT"), c.UploadLimit, least))
	}
	errs = append(errs, c.Hooks.contradictions(c.MemoryBudget, minMemory(c), c.UploadLimit, bad)...)
	if c.ProxyProtocol && len(c.TrustedProxies) == 0 && !bad["HOLDMAIL_TRUSTED_PROXIES"] {
		errs = append(errs, errors.New(named("HOLDMAIL_PROXY_PROTOCOL")+" is on and "+named("HOLDMAIL_TRUSTED_PROXIES")+" is unset: want the proxies that speak it"))
	}

	errs = append(errs, c.HTTPS.contradictions(c.Port, bad)...)

	if c.Data == "" && !bad["HOLDMAIL_DATA"] && (c.Engine == "bolt" || len(c.HTTPS.Domains) > 0) {
		errs = append(errs, errors.New(named("HOLDMAIL_DATA")+" is unset, and so are STATE_DIRECTORY, XDG_STATE_HOME and HOME: want a folder"))
	}
	if c.Engine != "bolt" {
		return errs
	}
	if file := maxFile(c); file > maxMap && !bad["ARCHON_DIDCOMM_MAX_TOTAL_BYTES"] && !bad["HOLDMAIL_MAX_MESSAGES"] {
		errs = append(errs, fmt.Errorf("%s is %d and %s is %d, for which the file may grow to %d bytes: want what fits into %d, the most this 32-bit build can map",
			named("ARCHON_DIDCOMM_MAX_TOTAL_BYTES"), c.Caps.TotalBytes, named("HOLDMAIL_MAX_MESSAGES"), c.Caps.TotalMessages, file, maxMap))
	}
	return errs
}

// maxFile bounds the size of a bbolt file whose mail and deliveries stay within their
// caps, in bytes: bodies, half a kilobyte of record each, and as much again and a
// fifth for pages that are free or half full.
func maxFile(c Config) int64 {
	kept := c.Caps.TotalBytes + 512*c.Caps.TotalMessages
	if c.Hooks.On() {
		kept += c.Hooks.Caps.Bytes + 512*c.Hooks.Caps.Deliveries
	}
	return kept * 11 / 5
}

// named gives a setting's both spellings.
func named(env string) string {
	for _, s := range settings() {
		if s.env == env {
			return s.String()
		}
	}
	panic("appliance: no setting " + env)
}
