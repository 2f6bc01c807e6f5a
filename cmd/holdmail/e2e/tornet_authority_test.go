package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// torAuthorityKeys is an authority that is not running yet.
type torAuthorityKeys struct {
	name, orPort, dirPort string
	identity              string // fingerprint of what signs its votes
	fingerprint           string // of the relay that it is too
}

// line tells a Tor of the authority.
func (a torAuthorityKeys) line() string {
	return fmt.Sprintf("DirAuthority %s orport=%s no-v2 v3ident=%s 127.0.0.1:%s %s\n", a.name, a.orPort, a.identity, a.dirPort, a.fingerprint)
}

// newAuthorities makes three, the least that can agree when one is late. Their
// keys take a second each, so they are made at the same time.
func newAuthorities(dir string) ([]torAuthorityKeys, error) {
	made, errs := make([]torAuthorityKeys, 3), make([]error, 3)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { made[i], errs[i] = newTorAuthority(dir, fmt.Sprintf("authority%d", i)) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

var (
	votesLine = regexp.MustCompile(`(?m)^fingerprint ([0-9A-F]{40})$`)
	relayLine = regexp.MustCompile(`(?m)^\S+ ([0-9A-F ]{49})$`)
)

func newTorAuthority(dir, name string) (a torAuthorityKeys, err error) {
	a.name = name
	if a.orPort, err = findPort(); err != nil {
		return a, err
	}
	if a.dirPort, err = findPort(); err != nil {
		return a, err
	}
	dir = filepath.Join(dir, name)
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return a, err
	}
	certificate := filepath.Join(keys, "authority_certificate")
	gencert := exec.Command("tor-gencert", "--create-identity-key", "--passphrase-fd", "0", "-m", "12", "-a", "127.0.0.1:"+a.dirPort,
		"-i", filepath.Join(keys, "authority_identity_key"), "-s", filepath.Join(keys, "authority_signing_key"), "-c", certificate)
	gencert.Stdin = strings.NewReader("for tests\n")
	if out, err := gencert.CombinedOutput(); err != nil {
		return a, fmt.Errorf("tor-gencert: %w\n%s", err, out)
	}
	text, err := os.ReadFile(certificate)
	if err != nil {
		return a, err
	}
	if a.identity, err = found(votesLine, text); err != nil {
		return a, err
	}
	// Tor prints this only for a relay, and as an authority only if it knows one.
	list := exec.Command("tor", append(torArgs(filepath.Join(dir, "torrc")), "--list-fingerprint", "--orport", "1",
		"--dirserver", "any 127.0.0.1:1 "+strings.Repeat("f", 40), "--datadirectory", dir, "--nickname", name)...)
	if text, err = list.Output(); err != nil {
		return a, fmt.Errorf("tor --list-fingerprint: %w\n%s", err, text)
	}
	a.fingerprint, err = found(relayLine, text)
	return a, err
}

// found is the one group of a pattern in a text, without its spaces.
func found(pattern *regexp.Regexp, text []byte) (string, error) {
	m := pattern.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("no %s in:\n%s", pattern, text)
	}
	return strings.ReplaceAll(string(m[1]), " ", ""), nil
}
