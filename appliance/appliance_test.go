package appliance

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
)

// testConfig is the default, kept below the test's folder, on a free local port.
func testConfig(t testing.TB) Config {
	t.Helper()
	c, _, err := Load(Flags{}, []string{"HOLDMAIL_DATA=" + filepath.Join(t.TempDir(), "data"), "ARCHON_BIND_ADDRESS=127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c.Port = 0
	return c
}

// start serves a new relay; stop ends it and waits until it is closed.
func start(t testing.TB, c Config, change func(*Appliance)) (url string, stop func()) {
	t.Helper()
	a, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx) }()
	return "http://" + a.Addr().String(), func() {
		t.Helper()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}
}

func TestARelayOnEachEngineCarriesMail(t *testing.T) {
	for _, engine := range []string{"bolt", "memory"} {
		t.Run(engine, func(t *testing.T) {
			c := testConfig(t)
			c.Engine = engine
			url, stop := start(t, c, nil)
			defer stop()
			for _, base := range []string{url, url + "/didcomm"} {
				relay, err := client.New(base)
				if err != nil {
					t.Fatal(err)
				}
				if err := relay.Selftest(t.Context(), func(client.Step) {}); err != nil {
					t.Errorf("%s: %v", base, err)
				}
			}
		})
	}
}

func TestAStopLetsARunningRequestFinish(t *testing.T) {
	running, finish := make(chan bool), make(chan bool)
	url, stop := start(t, testConfig(t), func(a *Appliance) {
		a.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(running)
			<-finish
			io.WriteString(w, "the whole answer")
		})
	})
	answer := make(chan string)
	go func() { answer <- body(http.Get(url)) }()
	<-running
	stopped := make(chan bool)
	go func() { stop(); close(stopped) }()
	until(t, func() bool { // nobody new is let in
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	close(finish)
	if got := <-answer; got != "the whole answer" {
		t.Errorf("the running request got %q", got)
	}
	<-stopped
}

func TestAStopCutsARequestThatDoesNotFinish(t *testing.T) {
	running := make(chan bool)
	url, stop := start(t, testConfig(t), func(a *Appliance) {
		a.drainFor = 10 * time.Millisecond
		a.handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(running)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	})
	answer := make(chan string)
	go func() { answer <- body(http.Get(url)) }()
	<-running
	stop()
	if got := <-answer; !strings.HasPrefix(got, "error: ") {
		t.Errorf("the cut request got %q, want an error", got)
	}
}

func TestWhatCannotStartSaysWhyAndLeavesNothingOpen(t *testing.T) {
	c := testConfig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := c
	taken.Port = uint16(l.Addr().(*net.TCPAddr).Port)
	if _, err := New(taken, slog.New(slog.DiscardHandler)); err == nil || !strings.HasSuffix(err.Error(), "bind: address already in use") {
		t.Errorf("on a taken port: %v", err)
	}
	_, stop := start(t, c, nil) // the store was closed again
	defer stop()
	if _, err := New(c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("on a taken store: %v", err)
	}
}

func TestTheLogFitsWhereItGoes(t *testing.T) {
	for _, tt := range []struct {
		name, format, want string
		journal            bool
	}{
		{"journal", "auto", "level=INFO msg=hello\n", true},
		{"elsewhere", "auto", "time=", false},
		{"text", "text", "time=", true},
		{"json", "json", `{"time":`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := os.Create(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			stream := "1:1" // another's
			if tt.journal {
				if stream, err = streamName(out); err != nil {
					t.Fatal(err)
				}
			}
			NewLog(Config{LogFormat: tt.format}, out, stream).Info("hello")
			got, err := os.ReadFile(out.Name())
			if err != nil || !strings.HasPrefix(string(got), tt.want) {
				t.Errorf("the log is %q, %v; want it to begin with %q", got, err, tt.want)
			}
		})
	}
}

// body is an answer's body, or the error instead of one.
func body(answer *http.Response, err error) string {
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	return string(b)
}

// until waits for something that happens in the kernel.
func until(t testing.TB, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if happened() {
			return
		}
	}
	t.Fatal("it does not happen within ten seconds")
}
