package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a program beside the relay that is started, killed and started
// again.
type process struct {
	command func() *exec.Cmd // a fresh one for each start

	cmd    *exec.Cmd
	log    *output       // what the last one wrote
	exited chan struct{} // closed once the last one has ended
}

// spawn starts the program, until the test ends, and waits for nothing.
func (p *process) spawn(t testing.TB) {
	t.Helper()
	p.cmd, p.log = p.command(), &output{}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, log, exited := p.cmd, p.log, make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	p.exited = exited
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-exited
		if strings.Contains(log.String(), "DATA RACE") {
			t.Errorf("a data race:\n%s", log)
		}
	})
}

// kill ends the program amid whatever it does.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("killing: %v\n%s", err, p.log)
	}
	<-p.exited
}

// stop ends the program as an operator does, and fails the test unless it leaves
// with 0 within ten seconds.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stopping: %v\n%s", err, p.log)
	}
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		t.Fatalf("still running ten seconds after SIGTERM\n%s", p.log)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("ended with %d after SIGTERM, want 0\n%s", code, p.log)
	}
}

// alive fails the test if the program ended by itself.
func (p *process) alive(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
		t.Fatalf("ended by itself: %v\n%s", p.cmd.ProcessState, p.log)
	default:
	}
}
