package door_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
)

func TestTheLastLinesLeftOutAreCountedAtTheEnd(t *testing.T) {
	var log strings.Builder
	j := journal(&log)
	handler := door.Handle(door.Route{Handler: func(http.ResponseWriter, *http.Request) error { return errFull }}, rules, j)
	for range 123 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	for range 2 {
		j.Close()
	}
	if got := strings.Count(log.String(), "count=23"); got != 1 {
		t.Errorf("the end of the journal counts the 23 lines left out %d times", got)
	}
}

func TestAFloodOfRefusalsFillsNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		refuse := func(h door.Handler) func() {
			handler := door.Handle(door.Route{Path: "/route", Handler: h}, rules, journal(&log))
			return func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }
		}
		full := refuse(func(http.ResponseWriter, *http.Request) error { return errFull })
		for range 1000 {
			full()
		}
		if got := strings.Count(log.String(), "\n"); got != 100 {
			t.Fatalf("1000 refusals made %d lines, want 100", got)
		}
		time.Sleep(10 * time.Second) // of the bubble's clock
		log.Reset()
		full()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "count=900") || !strings.Contains(lines[1], "msg=refused") {
			t.Errorf("the next window begins with %q", lines)
		}
	})
}

func TestAFloodOfRefusalsHidesNoFailure(t *testing.T) {
	var log strings.Builder
	flood := true
	handler := door.Handle(door.Route{Handler: func(http.ResponseWriter, *http.Request) error {
		if flood {
			return errFull
		}
		return http.ErrNotSupported
	}}, rules, journal(&log))
	for range 1000 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	flood = false
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	if !strings.Contains(log.String(), "status=500") {
		t.Error("the failure is not in the log")
	}
}

func TestAMadeUpMethodStaysOutOfTheLog(t *testing.T) {
	_, _, log := call(t, httptest.NewRequest("DIDCIDANN", "/", nil), func(http.ResponseWriter, *http.Request) error { return errFull })
	if !strings.Contains(log, "method=other") {
		t.Errorf("log = %q", log)
	}
}
