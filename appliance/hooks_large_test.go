package appliance

import (
	"net/http"
	"strings"
	"testing"
)

// With the bounds that docs/webhooks.md names, bodies of 25 MiB come through, also
// one that quoting doubles.
func TestLargeBodiesWhenTheBoundsAreRaised(t *testing.T) {
	c := testConfig(t)
	c.Hooks.MaxBody, c.Hooks.Caps.Bytes, c.MemoryBudget = 25<<20, 400<<20, 256<<20
	c.Hooks.Caps.HookBytes = c.Hooks.Caps.Bytes / 4
	r := startHooks(t, c)
	defer r.stop()
	body := strings.Repeat(`"`, 25<<20)
	if got := r.send(body); got.StatusCode != http.StatusOK {
		t.Fatal(got.Status)
	}
	if got := r.take(); string(got.Body) != body {
		t.Errorf("%d bytes came, or others, want %d", len(got.Body), len(body))
	}
	if got := r.send(body + `"`); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a byte more: %s, want 413", got.Status)
	}
}
