package appliance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
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

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
