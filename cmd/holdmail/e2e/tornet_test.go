package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// torNetwork is a Tor network of this machine's own: three authorities and as
// many relays on loopback, which nothing leaves. It is started by the first test that
// asks and ends with the last one.
type torNetwork struct {
	once  sync.Once
	err   error  // why there is none
	dir   string // of all its nodes
	torrc string // lines that make a Tor a part of it
	nodes []*tor
}

// theTorNetwork is shared, since it takes a quarter of a minute to agree on
// itself.
var theTorNetwork torNetwork

// startTorNetwork returns the lines that a Tor needs in its torrc to be in the
// network, once all of its nodes are in the consensus: a client that came before
// would know too few of them for a way to an onion service, and for long.
func startTorNetwork(t testing.TB) (torrc string) {
	t.Helper()
	n := &theTorNetwork
	n.once.Do(func() { n.err = n.start(filepath.Join(filepath.Dir(binary), "tornet")) })
	if n.err != nil {
		t.Fatalf("starting a Tor network: %v", n.err)
	}
	eventually(t, 2*time.Minute, func() (bool, string) {
		consensus, err := os.ReadFile(filepath.Join(n.dir, "authority0", "cached-microdesc-consensus"))
		known := strings.Count(string(consensus), "\nr ")
		return known == len(n.nodes), fmt.Sprintf("the consensus knows %d nodes of %d (%v)", known, len(n.nodes), err)
	})
	return n.torrc
}

// start makes the keys of the authorities, which all must know, and runs all.
func (n *torNetwork) start(dir string) error {
	n.dir = dir
	for _, program := range []string{"tor", "tor-gencert"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: install Debian's package tor", err)
		}
	}
	authorities, err := newAuthorities(dir)
	if err != nil {
		return err
	}
	n.torrc = "TestingTorNetwork 1\nAssumeReachable 1\nShutdownWaitLength 0\n"
	for _, a := range authorities {
		n.torrc += a.line()
	}
	for _, a := range authorities {
		err = errors.Join(err, n.run(a.name, torRelay(a.orPort)+torAuthority(a.dirPort)))
	}
	for _, name := range []string{"relay0", "relay1", "relay2"} {
		port, portErr := findPort()
		err = errors.Join(err, portErr, n.run(name, torRelay(port)))
	}
	return err
}

func (n *torNetwork) run(name, lines string) error {
	dir := filepath.Join(n.dir, name)
	node, err := runTor(dir, n.torrc+"Nickname "+name+"\nDataDirectory "+dir+"\n"+lines)
	if err == nil {
		n.nodes = append(n.nodes, node)
	}
	return err
}

// stop ends the network, if it was started.
func (n *torNetwork) stop() {
	for _, node := range n.nodes {
		node.stop()
	}
}

// torRelay are the lines of a relay, which is what authorities are too.
func torRelay(orPort string) string {
	return "SocksPort 0\nOrPort 127.0.0.1:" + orPort + "\nAddress 127.0.0.1\nExitRelay 1\nExitPolicy accept *:*\nExitPolicyRejectPrivate 0\n"
}

// torAuthority are the lines that let an authority vote every ten seconds, for
// every relay and with every flag.
func torAuthority(dirPort string) string {
	return "DirPort 127.0.0.1:" + dirPort + `
AuthoritativeDirectory 1
V3AuthoritativeDirectory 1
ContactInfo tests@holdmail.example
TestingV3AuthInitialVotingInterval 5
TestingV3AuthInitialVoteDelay 2
TestingV3AuthInitialDistDelay 2
V3AuthVotingInterval 10
V3AuthVoteDelay 2
V3AuthDistDelay 2
TestingDirAuthVoteExit *
TestingDirAuthVoteGuard *
TestingDirAuthVoteHSDir *
TestingMinExitFlagThreshold 0
MinUptimeHidServDirectoryV2 0
`
}

// tor is one running Tor.
type tor struct {
	Dir  string // its folder, with torrc and log in it
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended
}

// runTor runs a Tor in dir, which is made if need be, with these lines.
func runTor(dir, torrc string) (*tor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "torrc")
	if err := os.WriteFile(file, []byte(torrc+"Log notice file "+filepath.Join(dir, "log")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return runTorFile(file)
}

// runTorFile runs a Tor with a torrc that is there already, in its folder.
func runTorFile(file string) (*tor, error) {
	r := &tor{Dir: filepath.Dir(file), done: make(chan struct{})}
	r.cmd = exec.Command("tor", torArgs(file)...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { r.cmd.Wait(); close(r.done) }()
	return r, nil
}

// torArgs let a Tor read one file and nothing that the machine's own is told.
func torArgs(file string) []string {
	return []string{"--quiet", "--ignore-missing-torrc", "--defaults-torrc", file + ".none", "-f", file}
}

// stop ends this Tor and no other.
func (r *tor) stop() {
	r.cmd.Process.Kill()
	<-r.done
}

// log is what it wrote, for a test's report.
func (r *tor) log() string {
	text, err := os.ReadFile(filepath.Join(r.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// awaitHost returns the name of the onion service in a folder, once Tor knows
// the network and the service.
func (r *tor) awaitHost(t testing.TB, service string) (host string) {
	t.Helper()
	eventually(t, 3*time.Minute, func() (bool, string) {
		select {
		case <-r.done:
			t.Fatalf("tor ended: %v\n%s", r.cmd.ProcessState, r.log())
		default:
		}
		name, err := os.ReadFile(filepath.Join(service, "hostname"))
		host = strings.TrimSpace(string(name))
		return err == nil && strings.Contains(r.log(), "Bootstrapped 100%"), r.log()
	})
	return host
}
