package ids

import (
	"strings"
	"testing"
)

func TestDeliveries(t *testing.T) {
	var d Deliveries
	last := ""
	for i := range 300 {
		id := d.Next()
		text := id.String()
		if text <= last || id.Sequence() != uint64(i+1) {
			t.Fatalf("id %d is %s, after %s", i+1, text, last)
		}
		if got, ok := d.Reserved(text); !ok || got != id {
			t.Fatalf("Reserved(%s) = %v, %v", text, got, ok)
		}
		last = text
	}
	d.Begin(1000)
	if n := d.Next().Sequence(); n != 1001 {
		t.Errorf("after 1000 comes %d", n)
	}
}

// What a crash forgot is numbered again, under other ids.
func TestDeliveriesAgain(t *testing.T) {
	seen := map[Delivery]bool{}
	for range 100 {
		var d Deliveries
		if id := d.Next(); seen[id] {
			t.Fatalf("%s came twice", id)
		} else {
			seen[id] = true
		}
	}
}

func TestNoDelivery(t *testing.T) {
	var d Deliveries
	id := d.Next().String()
	for _, text := range []string{
		"", id[1:], id + "0", id + " ", strings.ToUpper(id[:16]) + "ABCDEF0123456789", "g" + id[1:],
		strings.Repeat("0", 32), "ff" + id[2:],
	} {
		if got, ok := ParseDelivery(text); ok {
			t.Errorf("ParseDelivery(%q) = %s", text, got)
		}
	}
	if _, ok := d.Reserved("0000000000000002" + id[16:]); ok {
		t.Error("an id that is yet to come was reserved")
	}
}
