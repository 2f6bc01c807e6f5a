package appliance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/flight"
)

// gathering is a server whose connections are of a crowd. A request for /wait
// is answered when the test says so.
type gathering struct {
	crowd   *crowd
	address string
	waiting chan chan struct{} // a request came, and is answered once that is closed
}

func gather(t testing.TB, most int, source string) *gathering {
	t.Helper()
	g := &gathering{crowd: newCrowd(most, func(net.Addr) string { return source }), waiting: make(chan chan struct{}, 100)}
	inner, err := listen(t.Context(), "127.0.0.1:0", stallAfter)
	if err != nil {
		t.Fatal(err)
	}
	g.address = inner.Addr().String()
	server := &http.Server{
		ConnContext: introduce,
		ConnState:   rest,
		Handler: occupied(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				answer := make(chan struct{})
				g.waiting <- answer
				<-answer
			}
		})),
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(g.crowd.bounded(inner)) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return g
}

// guest is a client's connection.
type guest struct {
	net.Conn
	in *bufio.Reader
}

func (g *gathering) guest(t testing.TB) guest {
	t.Helper()
	conn, err := net.Dial("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return guest{conn, bufio.NewReader(conn)}
}

func (g guest) ask(path string) {
	fmt.Fprintf(g, "GET %s HTTP/1.1\r\nHost: relay\r\n\r\n", path)
}

// answered reads an answer, or returns why there is none.
func (g guest) answered() error {
	res, err := http.ReadResponse(g.in, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func TestTheLongestUnaskedConnectionMakesRoom(t *testing.T) {
	t.Parallel()
	g := gather(t, 3, "")
	busy, kept, mute := g.guest(t), g.guest(t), g.guest(t)
	kept.ask("/")
	if err := kept.answered(); err != nil {
		t.Fatal(err)
	}
	busy.ask("/wait")
	answer := <-g.waiting
	kept.ask("/")
	if err := kept.answered(); err != nil {
		t.Fatal(err)
	}

	newcomer := g.guest(t) // waits until mute has been without a request for long
	newcomer.ask("/")
	if err := newcomer.answered(); err != nil {
		t.Errorf("a newcomer: %v", err)
	}
	if err := mute.answered(); err == nil || isTimeout(err) {
		t.Errorf("the connection that never asked got %v, want its end", err)
	}
	close(answer)
	if err := busy.answered(); err != nil {
		t.Errorf("the connection that was busy: %v", err)
	}
	kept.ask("/")
	if err := kept.answered(); err != nil {
		t.Errorf("the connection that asked last: %v", err)
	}
}

func TestANewcomerWaitsWhileAllAreBusy(t *testing.T) {
	t.Parallel()
	g := gather(t, 1, "")
	busy, newcomer := g.guest(t), g.guest(t)
	busy.ask("/wait")
	answer := <-g.waiting
	newcomer.ask("/")
	close(answer)
	if err := busy.answered(); err != nil {
		t.Error(err)
	}
	busy.Close()
	if err := newcomer.answered(); err != nil {
		t.Errorf("a newcomer: %v", err)
	}
}

func TestASourceHasAQuarterOfTheConnections(t *testing.T) {
	t.Parallel()
	g := gather(t, 8, "ann")
	var answers []chan struct{}
	for range 2 {
		busy := g.guest(t)
		busy.ask("/wait")
		answers = append(answers, <-g.waiting)
	}
	third := g.guest(t)
	third.ask("/")
	if err := third.answered(); err == nil || isTimeout(err) {
		t.Errorf("a third connection of one source got %v, want its end", err)
	}
	for _, answer := range answers {
		close(answer)
	}
}

func TestAListenerThatWaitsForRoomCanBeClosed(t *testing.T) {
	t.Parallel()
	g := gather(t, 1, "")
	busy := g.guest(t)
	busy.ask("/wait")
	answer := <-g.waiting
	g.guest(t).ask("/")
	close(answer) // the rest is gather's
}

func TestTheSlowestMakesRoomWhenAllAreBusy(t *testing.T) {
	for _, tt := range []struct {
		name string
		take func(t testing.TB, conn net.Conn, who string, bytesPerSecond int)
	}{
		{"bodies that trickle", uploadSlowly},
		{"answers that are hardly read", downloadSlowly},
		{"the same over HTTP/2", downloadSlowlyByHTTP2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := openParlour(t, 4)
				write(t, p.dial(), "GET /wait HTTP/1.1\r\nHost: waiting\r\n\r\n")
				tt.take(t, p.dial(), "fast", 200_000)
				tt.take(t, p.dial(), "slow", 10_000)
				tt.take(t, p.dial(), "slowest", 1000)
				time.Sleep(time.Second / 20) // looks come between the callers' ticks

				for _, want := range []string{"slowest", "slow"} {
					newcomer, came := p.dial(), time.Now()
					if err := newcomer.SetDeadline(came.Add(time.Minute)); err != nil {
						t.Fatal(err)
					}
					write(t, newcomer, "GET / HTTP/1.1\r\nHost: relay\r\n\r\n")
					if err := (guest{newcomer, bufio.NewReader(newcomer)}).answered(); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(came); took > flight.Grace+unaskedFor {
						t.Errorf("a newcomer waited for %v", took)
					}
					if got := <-p.ended; got != want {
						t.Errorf("%s made room, want %s", got, want)
					}
				}
				time.Sleep(time.Second)
				if len(p.ended) > 0 {
					t.Errorf("%s went for nobody", <-p.ended)
				}
			})
		})
	}
}

// parlour is a server in a bubble whose connections are of a crowd. It tells whose
// request was cut: callers say who they are as the host.
type parlour struct {
	conns chan net.Conn
	ended chan string
}

func openParlour(t testing.TB, most int) *parlour {
	p := &parlour{make(chan net.Conn, 10), make(chan string, 10)}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch r.URL.Path {
		case "/wait":
			<-r.Context().Done()
			err = r.Context().Err()
		case "/download":
			_, err = w.Write(make([]byte, 64<<20))
		default:
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil {
			p.ended <- r.Host
		}
	})
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:     occupied(arrivals(boundStreams(h, stallAfter), unlimited())),
		Protocols:   &both,
		HTTP2:       http2Limits(),
		ConnContext: introduce,
		ConnState:   rest,
	}
	callers := newCrowd(most, func(net.Addr) string { return "" })
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(callers.bounded(&oneConn{p.conns})) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return p
}

// dial returns a caller's end of a connection.
func (p *parlour) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- &socketConn{stallConn{there, stallAfter, func() int { return 0 }}, pipe{there}}
	return here
}

// pipe is a socket without a descriptor.
type pipe struct{ net.Conn }

func (pipe) SyscallConn() (syscall.RawConn, error) { return nil, syscall.ENOTSUP }
func (pipe) CloseWrite() error                     { return nil }

func uploadSlowly(t testing.TB, conn net.Conn, who string, bytesPerSecond int) {
	write(t, conn, strings.Replace(strings.Replace(upload, "1000000", "10000000", 1), "relay", who, 1))
	feed(t, conn, bytesPerSecond/10, 1000, time.Second/10)
}

func downloadSlowly(t testing.TB, conn net.Conn, who string, bytesPerSecond int) {
	write(t, conn, "GET /download HTTP/1.1\r\nHost: "+who+"\r\n\r\n")
	done := make(chan struct{})
	go func() { defer close(done); _ = sip(conn, 64<<20, bytesPerSecond/10, time.Second/10) }()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
}

// downloadSlowlyByHTTP2 takes all that the connection brings, and holds its stream up.
func downloadSlowlyByHTTP2(t testing.TB, conn net.Conn, who string, bytesPerSecond int) {
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:   &only,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := (&http.Client{Transport: transport}).Get("http://" + who + "/download")
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		_ = sip(res.Body, 64<<20, bytesPerSecond/10, time.Second/10)
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
		transport.CloseIdleConnections()
	})
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
