package didcomm

import (
	"errors"
	"strings"
	"testing"
)

func TestAnErrorAndAPanicComeBackFromAnotherStack(t *testing.T) {
	want := errors.New("no such luck")
	if err := onOwnStack(func() error { return want }); err != want {
		t.Errorf("onOwnStack = %v, want %v", err, want)
	}
	defer func() {
		if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "a bug\n") || !strings.Contains(p, "stack_test.go") {
			t.Errorf("it panicked with %v", p)
		}
	}()
	t.Error(onOwnStack(func() error { panic("a bug") }))
}
