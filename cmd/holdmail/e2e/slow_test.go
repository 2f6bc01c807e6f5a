package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSlowReaders has 50 clients fetch a full mailbox at 50 KB/s each, and stop
// after 2 MiB. The relay holds none of it in memory for them, and goes on
// keeping what others deposit.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		size     int // of a message; a mailbox of 16 MiB is filled with them
		messages int
	}{
		{"64 KiB messages", 64 << 10, 256},
		{"4 MiB messages", 4 << 20, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const readers, allowed = 50, 64 << 20
			r, owner := newRelay(t), newWallet(t)
			r.Run = []string{binary}
			r.start(t)
			for n := range tt.messages {
				mustFile(t, r, envelope(tt.size, fmt.Sprint(n), owner))
			}
			r.stop(t)
			r.start(t) // what filling it took is no part of what is idle
			idle := r.anonymous(t)

			var slow, others sync.WaitGroup
			done := make(chan struct{})
			for range readers {
				answer := r.fetchSlowly(t, owner)
				slow.Go(func() { trickle(t, answer, 2<<20) })
			}
			deposits, peak := 0, int64(0)
			others.Go(func() { deposits = depositUntil(t, r, done) })
			others.Go(func() { peak = r.peakUntil(t, done) })
			slow.Wait()
			close(done)
			others.Wait()

			t.Logf("idle %d KiB, peak %d KiB, %d deposits meanwhile", idle>>10, peak>>10, deposits)
			if peak > idle+allowed {
				t.Errorf("anonymous memory rose from %d to %d KiB, by more than %d KiB", idle>>10, peak>>10, allowed>>10)
			}
			if deposits < 200 {
				t.Errorf("only %d deposits were kept meanwhile", deposits)
			}
		})
	}
}

// TestStopWithSlowReaders: an orderly stop waits for nobody for ever, and an
// answer it cuts does not look complete.
func TestStopWithSlowReaders(t *testing.T) {
	t.Parallel()
	r, owner := startRelay(t), newWallet(t)
	for n := range 16 {
		mustFile(t, r, envelope(1<<20, fmt.Sprint(n), owner))
	}
	var answers []net.Conn
	for range 10 {
		answer := r.fetchSlowly(t, owner)
		if _, err := io.ReadFull(answer, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	r.stop(t)
	for _, answer := range answers {
		rest, _ := io.ReadAll(answer)
		if len(rest) >= 16<<20 || bytes.HasSuffix(rest, []byte("\r\n0\r\n\r\n")) {
			t.Errorf("an answer that was cut ends after %d bytes as if it were complete", len(rest))
		}
	}
}

// fetchSlowly asks for w's mail and returns the connection, its answer unread.
// The kernel keeps only a few KiB of it on this side.
func (r *relay) fetchSlowly(t testing.TB, w wallet) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 8<<10)
		}), err)
	}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	req, err := http.NewRequest(http.MethodPost, r.URL+"/api/v1/messages/fetch", bytes.NewReader(w.proof(challenge(t, r))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	return conn
}

// trickle reads an answer at 50 KB/s until it has read enough of it.
func trickle(t testing.TB, answer net.Conn, enough int) {
	defer answer.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	gulp := make([]byte, 5000)
	for read := 0; read < enough; read += len(gulp) {
		<-tick.C
		answer.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := io.ReadFull(answer, gulp); err != nil {
			t.Errorf("an answer broke off after %d bytes: %v", read+n, err)
			return
		}
		if read == 0 && !bytes.HasPrefix(gulp, []byte("HTTP/1.1 200 OK\r\n")) {
			t.Errorf("a slow fetch was answered with %.200q", gulp)
			return
		}
	}
}

// depositUntil deposits up to fifty letters a second, mostly small ones, each of
// which must be kept, and returns how many.
func depositUntil(t testing.TB, r *relay, done <-chan struct{}) (deposits int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	to := newWallet(t)
	for {
		select {
		case <-done:
			return deposits
		case <-tick.C:
		}
		size := 1 << 10
		if deposits%50 == 49 {
			size = 128 << 10
		}
		if _, err := r.deposit(envelope(size, fmt.Sprint(deposits), to)); err != nil {
			t.Errorf("a deposit beside slow readers: %v", err)
			return deposits
		}
		deposits++
	}
}

// peakUntil watches the relay's anonymous memory and returns the most it was.
func (r *relay) peakUntil(t testing.TB, done <-chan struct{}) (peak int64) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		peak = max(peak, r.anonymous(t))
		select {
		case <-done:
			return peak
		case <-tick.C:
		}
	}
}

// anonymous is the relay's RssAnon, in bytes: memory that is no mapped file.
func (r *relay) anonymous(t testing.TB) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		if kib, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			if err != nil {
				t.Error(err)
			}
			return n << 10
		}
	}
	t.Error("no RssAnon in /proc")
	return 0
}
