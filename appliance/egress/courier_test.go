package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/egress"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// patient waits as long as any test takes; hasty gives up on those who hang.
var (
	patient = egress.Patience{Connect: time.Minute, Total: time.Minute}
	hasty   = egress.Patience{Connect: 100 * time.Millisecond, Total: 200 * time.Millisecond}
)

func TestABodyArrivesByteForByte(t *testing.T) {
	ca := newAuthority(t)
	url := serve(t, ca.issue(t, "", time.Now().Add(time.Hour)), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got := fmt.Sprint(r.Method, r.RequestURI, r.Header["Content-Type"], r.ContentLength, string(body)); got != "POST/a%2Fb[application/sealed] 6sealed" {
			t.Errorf("request: %s", got)
		}
		for name := range r.Header {
			if !strings.Contains("Content-Type Content-Length Accept User-Agent", name) {
				t.Errorf("header %s: %s", name, r.Header.Get(name))
			}
		}
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	})
	c := egress.NewCourier(egress.Options{Private: true, TLS: ca.trust(), Clearnet: patient})
	for range 2 {
		if answer, err := send(t, c, url+"/a%2Fb"); err != nil || string(answer) != "thanks" {
			t.Errorf("answer = %q, %v", answer, err)
		}
	}
}

func TestNoHostThatIsNotWhoItShouldBe(t *testing.T) {
	ca, stranger, soon := newAuthority(t), newAuthority(t), time.Now().Add(time.Hour)
	called := func(http.ResponseWriter, *http.Request) { t.Error("called") }
	plain := httptest.NewServer(http.HandlerFunc(called))
	t.Cleanup(plain.Close)
	for name, tt := range map[string]struct{ url, want string }{
		"unknown authority": {serve(t, stranger.issue(t, "", soon), called), "the endpoint's certificate is from an authority that this relay does not know"},
		"expired":           {serve(t, ca.issue(t, "", time.Now().Add(-time.Hour)), called), "the endpoint's certificate has expired, or is not valid yet"},
		"not valid yet":     {serve(t, ca.issue(t, "", time.Now().Add(9*time.Hour)), called), "the endpoint's certificate has expired, or is not valid yet"},
		"another name":      {serve(t, ca.issue(t, "other.example", soon), called), "the endpoint's certificate is for another name"},
		"plain HTTP":        {"https" + strings.TrimPrefix(plain.URL, "http"), "the endpoint does not speak TLS"},
		"plain text": {"https://" + listen(t, func(conn net.Conn) {
			io.WriteString(conn, "-ERR unknown command\r\n")
			silence(conn)
		}), "the endpoint does not speak TLS"},
		"hangs up": {"https://" + listen(t, func(conn net.Conn) { conn.Read(make([]byte, 1<<10)) }), "the endpoint hung up during the TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			c := egress.NewCourier(egress.Options{Private: true, TLS: ca.trust(), Clearnet: patient})
			_, err := send(t, c, tt.url)
			wantFailure(t, err, egress.TLS, tt.want)
		})
	}
	c := egress.NewCourier(egress.Options{Private: true, Clearnet: hasty})
	_, err := send(t, c, "https://"+listen(t, silence))
	wantFailure(t, err, egress.TLS, "the endpoint did not complete the TLS handshake in time")
}

// What reaches a service that speaks plain text is a handshake, and no command.
func TestNoCommandReachesAPlaintextService(t *testing.T) {
	heard := make(chan []byte, 1)
	address := listen(t, func(conn net.Conn) {
		first := make([]byte, 1<<12)
		n, _ := conn.Read(first)
		heard <- first[:n]
	})
	c := egress.NewCourier(egress.Options{Private: true, Clearnet: patient})
	e, err := egress.ParseEndpoint("https://" + address + "/SET")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), e, "application/sealed", []byte("\r\nSET owned yes\r\n")); err == nil {
		t.Error("delivered")
	}
	const handshakeRecord = 0x16
	if got := <-heard; len(got) == 0 || got[0] != handshakeRecord || strings.Contains(string(got), "SET") {
		t.Errorf("it was sent %q", got)
	}
}

func TestWhatARelayAnswers(t *testing.T) {
	ca := newAuthority(t)
	elsewhere := serve(t, ca.issue(t, "", time.Now().Add(time.Hour)), func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	type row struct {
		answer  http.HandlerFunc
		message string
		status  int
		retry   time.Duration
	}
	rows := map[string]row{
		"too long":       {endless, "the endpoint's answer is longer than 131072 bytes", 0, 0},
		"too many lines": {endlessHeader, "the endpoint's answer is not HTTP", 0, 0},
		"hangs up":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the endpoint hung up before its answer was whole", 0, 0},
		"stops halfway": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "five!")
		}, "the endpoint hung up before its answer was whole", 0, 0},
		"not HTTP": {func(w http.ResponseWriter, _ *http.Request) { raw(w, "SSH-2.0-x\r\n\r\n") }, "the endpoint's answer is not HTTP", 0, 0},
		"busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		}, "the endpoint answered 503", 503, 7 * time.Second},
		"busy for a year": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(429)
		}, "the endpoint answered 429", 429, 24 * time.Hour},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		rows[fmt.Sprint(status)] = row{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(status)
		}, fmt.Sprintf("the endpoint redirects (%d), and redirects are not followed", status), status, 0}
	}
	for _, status := range []int{400, 401, 404, 413, 500} {
		rows[fmt.Sprint(status)] = row{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, fmt.Sprintf("the endpoint answered %d", status), status, 0}
	}
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			url := serve(t, ca.issue(t, "", time.Now().Add(time.Hour)), tt.answer)
			c := egress.NewCourier(egress.Options{Private: true, TLS: ca.trust(), Clearnet: patient})
			_, err := send(t, c, url)
			f := wantFailure(t, err, egress.Relay, tt.message)
			if f.Status != tt.status || f.RetryAfter != tt.retry {
				t.Errorf("status %d, retry after %v; want %d, %v", f.Status, f.RetryAfter, tt.status, tt.retry)
			}
		})
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		io.WriteString(w, strings.Repeat("x", 1<<10))
	}
}

func endlessHeader(w http.ResponseWriter, _ *http.Request) {
	raw(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20))
}

// raw answers with bytes that are not net/http's.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		io.WriteString(conn, text)
		conn.Close()
	}
}

func TestASlowRelayIsGivenUp(t *testing.T) {
	ca := newAuthority(t)
	for name, answer := range map[string]http.HandlerFunc{
		"says nothing": func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"drips": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			for drip := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-r.Context().Done():
					drip.Stop()
					return
				case <-drip.C:
					io.WriteString(w, "x")
					w.(http.Flusher).Flush()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, ca.issue(t, "", time.Now().Add(time.Hour)), answer)
			c := egress.NewCourier(egress.Options{Private: true, TLS: ca.trust(), Clearnet: egress.Patience{Connect: time.Minute, Total: 300 * time.Millisecond}})
			_, err := send(t, c, url)
			wantFailure(t, err, egress.Relay, "the endpoint did not answer in time")
		})
	}
}

func TestACallerWhoLeavesEndsTheDelivery(t *testing.T) {
	ca := newAuthority(t)
	gone, leave := make(chan struct{}), errors.New("left")
	ctx, cancel := context.WithCancelCause(t.Context())
	url := serve(t, ca.issue(t, "", time.Now().Add(time.Hour)), func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		cancel(leave)
		<-r.Context().Done()
		close(gone)
	})
	e, err := egress.ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	c := egress.NewCourier(egress.Options{Private: true, TLS: ca.trust(), Clearnet: patient})
	if _, err := c.Send(ctx, e, "application/sealed", nil); !errors.Is(err, leave) {
		t.Errorf("error = %v, want %v", err, leave)
	}
	<-gone
}

func TestAHostThatIsAway(t *testing.T) {
	c := egress.NewCourier(egress.Options{Private: true, Clearnet: patient})
	_, err := send(t, c, "https://"+nobody)
	wantFailure(t, err, egress.Host, "the endpoint's host refused the connection")
}

func TestPrivateAddressesAreNotDialledWhereTheyAreForbidden(t *testing.T) {
	var dialled atomic.Int32
	_, port, err := net.SplitHostPort(listen(t, func(net.Conn) { dialled.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	c := egress.NewCourier(egress.Options{Clearnet: patient})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "[fd00::1]", "[64:ff9b::7f00:1]"} {
		_, err := send(t, c, "https://"+host+":"+port)
		f := wantFailure(t, err, egress.Host, "the endpoint's host has no address that this relay delivers to")
		if !errors.Is(f, egress.ErrForbidden) {
			t.Errorf("%s: %v, want ErrForbidden", host, err)
		}
	}
	if n := dialled.Load(); n != 0 {
		t.Errorf("a private address was dialled %d times", n)
	}
}

func TestPlainHTTPIsForOnionServicesAlone(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }))
	t.Cleanup(plain.Close)
	if _, err := send(t, egress.NewCourier(egress.Options{Private: true}), plain.URL); !errors.Is(err, egress.ErrEndpoint) {
		t.Errorf("error = %v, want ErrEndpoint", err)
	}
}

func TestTheEnvironmentsProxiesAreNotAsked(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	_, err := send(t, egress.NewCourier(egress.Options{Private: true, Clearnet: patient}), "https://"+nobody)
	wantFailure(t, err, egress.Host, "the endpoint's host refused the connection")
}
