package bolt

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

func maxProcs() int { return runtime.GOMAXPROCS(0) }

// wchar is how many bytes this process has handed to write calls.
func wchar(t testing.TB) int64 { return procIO(t, "wchar") }

func procIO(t testing.TB, name string) (n int64) {
	t.Helper()
	f, err := os.Open("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+": "); ok {
			if _, err := fmt.Sscan(text, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("/proc/self/io has no %s", name)
	return 0
}
