package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
)

// mute is a relay that says no more than the head of an answer.
type mute struct{ head bool }

func (m mute) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.head {
		return &http.Response{StatusCode: http.StatusOK, Body: silentBody{r.Context()}}, nil
	}
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// silentBody is a body that never comes.
type silentBody struct{ ctx context.Context }

func (b silentBody) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, context.Cause(b.ctx)
}

func (b silentBody) Close() error { return nil }

func TestSilentRelayIsGivenUp(t *testing.T) {
	for _, head := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, "http://relay.example")
			c.HTTP.Transport = mute{head}
			c.Patience = 20 * time.Second
			const wait = 30 * time.Second
			start := time.Now()
			err := c.Receive(t.Context(), client.Proof{}, wait, nil)
			want := c.Patience + wait
			if head {
				want = c.Patience // the wait is over when an answer begins
			}
			if took := time.Since(start); !client.Temporary(err) || took != want || !strings.Contains(err.Error(), "nothing was sent or heard") {
				t.Errorf("head %v: %v after %v, want an outage after %v", head, err, took, want)
			}
		})
	}
}

func TestCallersEndIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://relay.example")
		c.HTTP.Transport = mute{}
		tired := errors.New("tired of it")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, tired)
		defer cancel()
		if err := c.Health(ctx); !errors.Is(err, tired) || client.Temporary(err) {
			t.Errorf("Health: %v, want the caller's reason", err)
		}
	})
}

func TestDepositOfUnknownSizeIsRefusedBeforeItIsSent(t *testing.T) {
	for _, size := range []int64{-1, 1 << 30} {
		c := newClient(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != size {
				t.Errorf("Content-Length is %d, want %d", r.ContentLength, size)
			}
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		body := &endless{}
		_, err := c.DepositFrom(t.Context(), io.LimitReader(body, 1<<30), size)
		if refused, _ := errors.AsType[*client.Error](err); refused == nil || refused.Status != http.StatusTooManyRequests {
			t.Errorf("DepositFrom: %v, want the relay's 429", err)
		}
		if body.read > 0 {
			t.Errorf("%d bytes were read that the relay did not want", body.read)
		}
	}
}

// endless counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

func TestRedirectIsNotFollowed(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proof went elsewhere") })
	c := newClient(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	}))
	_, err := c.FetchWith(t.Context(), client.Proof{})
	if refused, _ := errors.AsType[*client.Error](err); refused == nil || refused.Status != http.StatusTemporaryRedirect {
		t.Errorf("FetchWith: %v, want the 307", err)
	}
}

func TestWhatMayPassByItself(t *testing.T) {
	for status, want := range map[int]bool{400: false, 401: false, 404: false, 408: true, 413: false, 429: true, 500: true, 502: true, 503: true} {
		if got := client.Temporary(&client.Error{Status: status}); got != want {
			t.Errorf("Temporary of %d = %v, want %v", status, got, want)
		}
	}
	if client.Temporary(nil) || client.Temporary(errors.New("disk full")) {
		t.Error("an error of nobody's is temporary")
	}
	if err := newClient(t, "http://127.0.0.1:1").Health(t.Context()); !client.Temporary(err) {
		t.Errorf("nobody listens: %v is not temporary", err)
	}
}
