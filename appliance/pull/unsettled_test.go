package pull

import (
	"testing"
	"time"
)

func TestAnEqualDeliveryWaitsForTheFirstWhileThatMayCome(t *testing.T) {
	var u unsettled
	now := time.UnixMilli(1760000000000)
	one, other := [32]byte{1}, [32]byte{2}
	u.note(one, "d1", now)
	for _, tt := range []struct {
		name  string
		sum   [32]byte
		id    string
		after time.Duration
		want  bool
	}{
		{"an equal one", one, "d2", 0, true},
		{"itself", one, "d1", 0, false},
		{"another", other, "d2", 0, false},
		{"at the last moment", one, "d2", unsettledFor, true},
		{"the first is gone from the relay", one, "d2", unsettledFor + 1, false},
		{"a clock that was set back", one, "d2", -time.Hour, false},
	} {
		if got := u.before(tt.sum, tt.id, now.Add(tt.after)); got != tt.want {
			t.Errorf("%s: waits = %v, want %v", tt.name, got, tt.want)
		}
	}
	u.settle(one)
	if u.before(one, "d2", now) {
		t.Error("it waits for one that is settled")
	}
}

func TestWhatIsUnsettledIsForgotten(t *testing.T) {
	var u unsettled
	now := time.UnixMilli(1760000000000)
	for i := range 100 {
		u.note([32]byte{byte(i)}, "d", now.Add(time.Duration(i)*time.Minute))
	}
	if want := int(unsettledFor/time.Minute) + 1; len(u) != want {
		t.Errorf("%d are remembered, want %d", len(u), want)
	}
}
