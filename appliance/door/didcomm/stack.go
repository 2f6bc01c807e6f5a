package didcomm

import (
	"fmt"
	"runtime/debug"
)

// onOwnStack returns what do does, run on a stack of its own that is gone when it
// returns. It panics if do does.
func onOwnStack(do func() error) (err error) {
	panicked := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				panicked <- fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			close(panicked)
		}()
		err = do()
	}()
	if p, ok := <-panicked; ok {
		panic(p)
	}
	return err
}
