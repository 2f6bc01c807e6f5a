package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// program starts what webhooks are for, sets $PROGRAM to its URL, and has it answer
// with the path and the body of each request.
func program(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: program")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	}))
	ts.Defer(server.Close)
	ts.Setenv("PROGRAM", server.URL)
}

// hook sends text to the address in a file, as often as it takes, until it is answered
// as it should be.
func hook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: hook file text status answer")
	}
	address := strings.TrimSpace(ts.ReadFile(args[0]))
	want, got := strings.Join(args[2:], " "), ""
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		res, err := http.Post(address, "text/plain", strings.NewReader(args[1]))
		ts.Check(err)
		body, err := io.ReadAll(res.Body)
		ts.Check(err)
		ts.Check(res.Body.Close())
		if got = fmt.Sprintf("%d %s", res.StatusCode, body); got == want {
			return
		}
	}
	ts.Fatalf("%s is answered with %q, want %q", address, got, want)
}
