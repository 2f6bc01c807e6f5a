package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"golang.org/x/sys/unix"
)

// syncTime is what one fdatasync of one written page takes here and now.
func syncTime(b testing.TB) time.Duration {
	b.Helper()
	const n = 300
	_, synced := writeTime(b, 4096, n)
	return synced
}

// writeTime is what writing size bytes takes to a file that has room for them,
// and what the fdatasync behind it takes, on average over n times.
func writeTime(b testing.TB, size, n int) (written, synced time.Duration) {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	places := min(200, max(1, 64<<20/size))
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(places*size)); err != nil {
		b.Fatal(err)
	}
	content := bytes.Repeat([]byte("A"), size)
	for i := range n {
		start := time.Now()
		if _, err := f.WriteAt(content, int64(i%places*size)); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
		written, synced = written+between.Sub(start), synced+time.Since(between)
	}
	return written / time.Duration(n), synced / time.Duration(n)
}

// verifyTime is what one secp256k1 verification takes on one core.
func verifyTime(b testing.TB) time.Duration {
	b.Helper()
	const n = 500
	w, digest := newWallet(b), sha256.Sum256([]byte("a challenge"))
	signature, key := ecdsa.Sign(w.key, digest[:]), w.key.PubKey()
	start := time.Now()
	for range n {
		if !signature.Verify(digest[:], key) {
			b.Fatal("a good signature does not verify")
		}
	}
	return time.Since(start) / n
}

// processorTime is what the relay's process has used of the processors.
func (r *relay) processorTime(b testing.TB) time.Duration {
	b.Helper()
	return clockTime(b, int32(^r.cmd.Process.Pid<<3|2)) // see clock_getcpuclockid(3)
}

// ownProcessorTime is what this process, the load, has used of them.
func ownProcessorTime(b testing.TB) time.Duration {
	b.Helper()
	return clockTime(b, unix.CLOCK_PROCESS_CPUTIME_ID)
}

func clockTime(b testing.TB, clock int32) time.Duration {
	b.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// writtenBytes is what the relay has caused to be written to a disk so far.
func (r *relay) writtenBytes(b testing.TB) int64 {
	b.Helper()
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", r.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(io), "\nwrite_bytes: ")
	text, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// mebibytes is how a benchmark reports memory.
func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
