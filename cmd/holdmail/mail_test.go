package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdmail/holdmail/appliance/identity"
)

// envelope makes a packed envelope of about size bytes for an identity.
func envelope(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: envelope size file identity")
	}
	size, err := strconv.Atoi(args[0])
	ts.Check(err)
	who, err := identity.Open(ts.MkAbs(args[2]))
	ts.Check(err)
	// In base64url three bytes become four.
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), identity.SampleEnvelope(size/4*3, who.KeyID()), 0o600))
}

// appears waits until a folder has so many files with a name of their own.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: appears number folder")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		found, err := filepath.Glob(filepath.Join(ts.MkAbs(args[1]), "[^.]*"))
		ts.Check(err)
		if len(found) == want {
			return
		}
	}
	ts.Fatalf("%s has no %d files within a minute", args[1], want)
}

// holds checks that a folder holds the contents of files, each once in a file of
// its own, and nothing else. With ! it checks that it holds none of them.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: holds folder [files...]")
	}
	folder := ts.MkAbs(args[0])
	entries, err := os.ReadDir(folder)
	ts.Check(err)
	if !neg && len(entries) != len(args)-1 {
		ts.Fatalf("%s holds %d files, want %d: %v", args[0], len(entries), len(args)-1, entries)
	}
	for _, name := range args[1:] {
		want, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		copies := 0
		for _, e := range entries {
			got, err := os.ReadFile(filepath.Join(folder, e.Name()))
			ts.Check(err)
			if bytes.Equal(got, want) {
				copies++
			}
		}
		if copies > 1 || neg != (copies == 0) {
			ts.Fatalf("%s holds %s %d times", args[0], name, copies)
		}
	}
}
