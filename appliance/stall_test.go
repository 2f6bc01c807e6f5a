package appliance

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// pair connects a caller to a listener that gives up after stall.
func pair(t testing.TB, stall time.Duration) (server *socketConn, caller net.Conn) {
	t.Helper()
	l, err := listen(t.Context(), "127.0.0.1:0", stall)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	caller, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { caller.Close() })
	if err := caller.(*net.TCPConn).SetReadBuffer(32 << 10); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return accepted.(*socketConn), caller
}

// sip reads n bytes from r, size at a time, one piece per tick.
func sip(r io.Reader, n, size int, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for piece := make([]byte, size); n > 0; n -= size {
		<-tick.C
		if _, err := io.ReadFull(r, piece[:min(size, n)]); err != nil {
			return err
		}
	}
	return nil
}

func TestASlowReaderIsServedHoweverLongOneWriteTakes(t *testing.T) {
	t.Parallel()
	const (
		bytes, size = 4 << 20, 128 << 10
		pause       = 50 * time.Millisecond // a write of 1.6 seconds
		stall       = time.Second
	)
	server, caller := pair(t, stall)
	read := make(chan error, 1)
	go func() { read <- sip(caller, bytes, size, pause) }()

	start := time.Now()
	n, err := server.Write(make([]byte, bytes))
	if took := time.Since(start); took < stall {
		t.Errorf("the write took %s, too short to prove anything", took)
	}
	if n != bytes || err != nil {
		t.Errorf("Write = %d, %v; want all %d bytes", n, err, bytes)
	}
	server.Close() // or the reader of a cut answer would wait for the rest
	if err := <-read; err != nil {
		t.Errorf("the reader: %v", err)
	}
}

// script is a peer's kernel: what happens in each wait for it, in turn, and
// nothing after that.
type script struct {
	net.Conn
	deadline  time.Time
	taken     []int // bytes that a write can place
	confirmed []int // bytes that the peer acknowledges meanwhile
	queue     int
}

func (s *script) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

func (s *script) Write(p []byte) (int, error) {
	time.Sleep(time.Until(s.deadline)) // in a bubble's time
	n := min(len(p), next(&s.taken))
	s.queue += n - next(&s.confirmed)
	if n == len(p) {
		return n, nil
	}
	return n, os.ErrDeadlineExceeded
}

func next(queue *[]int) (n int) {
	if len(*queue) > 0 {
		n, *queue = (*queue)[0], (*queue)[1:]
	}
	return n
}

func TestAStallIsTimeWithoutAnyByteTaken(t *testing.T) {
	const stall = 4 * time.Second // looks are a second apart
	for _, tt := range []struct {
		name             string
		taken, confirmed []int
		written          int
		after            time.Duration
		err              error
	}{
		{"all taken", []int{10}, nil, 10, 1 * time.Second, nil},
		{"nothing ever", nil, nil, 0, 4 * time.Second, os.ErrDeadlineExceeded},
		{"a byte in the nick of time", []int{0, 0, 0, 1}, nil, 1, 8 * time.Second, os.ErrDeadlineExceeded},
		{"a byte now and then, to the end", []int{0, 0, 3, 0, 0, 0, 3, 0, 0, 4}, nil, 10, 10 * time.Second, nil},
		{"acknowledgements alone", nil, []int{5, 0, 0, 5}, 0, 8 * time.Second, os.ErrDeadlineExceeded},
		{"acknowledgements, then room", []int{0, 0, 0, 0, 0, 10}, []int{0, 0, 5}, 10, 6 * time.Second, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kernel := &script{taken: tt.taken, confirmed: tt.confirmed, queue: 100}
				conn := stallConn{kernel, stall, func() int { return kernel.queue }}
				start := time.Now()
				n, err := conn.Write(make([]byte, 10))
				if took := time.Since(start); n != tt.written || err != tt.err || took != tt.after {
					t.Errorf("Write = %d, %v after %s; want %d, %v after %s", n, err, took, tt.written, tt.err, tt.after)
				}
			})
		})
	}
}

func TestAReaderThatStandsStillIsLetGo(t *testing.T) {
	t.Parallel()
	const stall = 100 * time.Millisecond
	server, _ := pair(t, stall)
	start := time.Now()
	n, err := server.Write(make([]byte, 8<<20))
	if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || n == 8<<20 || took < stall {
		t.Errorf("Write = %d, %v after %s; want a deadline after %s", n, err, took, stall)
	}
}

func TestAWaitingWriteEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	server, caller := pair(t, time.Hour)
	wrote := make(chan error, 1)
	go func() {
		_, err := server.Write(make([]byte, 8<<20))
		wrote <- err
	}()
	if _, err := io.ReadFull(caller, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := <-wrote; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write = %v, want that the connection is closed", err)
	}
}

func TestAcceptedConnections(t *testing.T) {
	t.Parallel()
	server, caller := pair(t, time.Minute)
	raw, err := server.socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var unsent int
	if err := raw.Control(func(fd uintptr) {
		unsent, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
	}); err != nil || unsent != maxUnsent {
		t.Errorf("the kernel holds %d unsent bytes (%v), want %d", unsent, err, maxUnsent)
	}
	if _, ok := any(server).(io.ReaderFrom); ok {
		t.Error("a connection has ReadFrom, which goes around the stall rule")
	}
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after CloseWrite the caller reads %v, want EOF", err)
	}
}
