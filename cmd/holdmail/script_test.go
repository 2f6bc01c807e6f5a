package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdmail": main})
}

// The scripts are what a person does at a shell, against this program.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Values[proxyKey{}] = new(*proxy)
			env.Setenv("SOURCE", root)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("ARCHON_BIND_ADDRESS", "127.0.0.1")
			env.Setenv("ARCHON_DIDCOMM_PORT", freePort(t))
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
				env.Setenv(name, goEnv(t, name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": ready, "mode": mode, "sigterm": sigterm, "exits": exits,
			"envelope": envelope, "holds": holds, "appears": appears, "certificate": certificate,
			"proxy": startProxy, "stalled": stalled, "program": program, "hook": hook,
		},
	})
}

// ready waits until the script's relay answers.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: ready [https]")
	}
	scheme := append(args, "http")[0]
	url := scheme + "://127.0.0.1:" + ts.Getenv("ARCHON_DIDCOMM_PORT") + "/health"
	anyone := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		answer, err := anyone.Get(url)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("the relay is not ready after a minute")
}

// sigterm asks what runs in the background to stop, as a service manager does.
func sigterm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: sigterm")
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(syscall.SIGTERM))
	}
}

// mode checks a file's permissions, as ls prints them.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode drwx------ file")
	}
	stat, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := stat.Mode().String(); got != args[0] {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[0])
	}
}

// exits runs a command that must end with a certain code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = failed.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("ended with %d, want %s", code, args[0])
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
