package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// proxyKey finds a script's *proxy: the last one it started.
type proxyKey struct{}

// proxy stands before a script's relay and spoils the answer to the first fetch.
type proxy struct {
	after   int64 // bytes of it that pass
	stall   bool  // then it stands still; else it is cut
	spoiled atomic.Bool
	reached chan struct{} // closed when that answer stands still
}

// startProxy starts a proxy and sets $PROXY to its URL.
func startProxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "cut" && args[0] != "stall" {
		ts.Fatalf("usage: proxy cut|stall bytes")
	}
	after, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	p := &proxy{after: after, stall: args[0] == "stall", reached: make(chan struct{})}
	*ts.Value(proxyKey{}).(**proxy) = p
	relay := &url.URL{Scheme: "http", Host: "127.0.0.1:" + ts.Getenv("ARCHON_DIDCOMM_PORT")}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(relay)
			// A server closes a request's body when it begins to answer; whoever still
			// looks for its end then breaks the call off.
			body, _ := io.ReadAll(r.In.Body)
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
		},
		FlushInterval:  -1, // at once
		ModifyResponse: p.spoil,
		ErrorLog:       log.New(io.Discard, "", 0), // all its errors are made
	})
	ts.Defer(func() { server.CloseClientConnections(); server.Close() })
	ts.Setenv("PROXY", server.URL)
}

func (p *proxy) spoil(res *http.Response) error {
	if strings.HasSuffix(res.Request.URL.Path, "/fetch") && res.StatusCode == http.StatusOK && p.spoiled.CompareAndSwap(false, true) {
		res.Body = &spoiledBody{ReadCloser: res.Body, proxy: p, left: p.after, gone: res.Request.Context().Done()}
	}
	return nil
}

// spoiledBody passes some bytes and no more.
type spoiledBody struct {
	io.ReadCloser
	proxy *proxy
	left  int64
	gone  <-chan struct{} // closed when the caller has left
}

// Read ends with an error, if at all.
func (b *spoiledBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		if b.proxy.stall {
			close(b.proxy.reached)
			<-b.gone
		}
		return 0, errors.New("spoiled")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// stalled waits until the answer stands still.
func stalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: stalled")
	}
	select {
	case <-(*ts.Value(proxyKey{}).(**proxy)).reached:
	case <-time.After(time.Minute):
		ts.Fatalf("no fetch has come so far within a minute")
	}
}
