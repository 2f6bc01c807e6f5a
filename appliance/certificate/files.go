package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how long the files are taken to be what they were.
const lookEvery = 2 * time.Second

// Files is a certificate and its key in two files, which may change.
type Files struct {
	chain, key string
	log        *slog.Logger

	mu     sync.Mutex // guards all below; held while the files are read
	pair   *tls.Certificate
	seen   stamps
	looked time.Time
}

// OpenFiles reads a pair: chain is a PEM file of the certificate and what leads
// to its root, key one of its private key.
func OpenFiles(chain, key string, log *slog.Logger) (*Files, error) {
	f := &Files{chain: chain, key: key, log: log}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Certificate is tls.Config's GetCertificate. It reads the files again when they
// have changed, which it looks for every two seconds at most. A new pair that
// is broken, or of which only one half is there yet, leaves the old one in use.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookEvery {
		return f.pair, nil
	}
	if f.stamps() == f.seen {
		f.looked = time.Now()
		return f.pair, nil
	}
	if err := f.read(); err != nil {
		f.log.Warn("the new certificate is of no use, the old one stays", "cause", err)
	} else {
		f.log.Info("the certificate was read again", "until", f.pair.Leaf.NotAfter)
	}
	return f.pair, nil
}

// read takes the pair from the files, or leaves the one there was. The stamps
// come first: what changes while it reads is seen the next time.
func (f *Files) read() error {
	f.seen, f.looked = f.stamps(), time.Now()
	chain, err := os.ReadFile(f.chain)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return err
	}
	pair, err := parse(chain, key)
	if err != nil {
		return fmt.Errorf("%s with %s: %w", f.chain, f.key, err)
	}
	f.pair = pair
	return nil
}

// stamps tell whether the files are what they were.
type stamps struct{ chain, key stamp }

func (f *Files) stamps() stamps { return stamps{stampOf(f.chain), stampOf(f.key)} }

// stamp is when a file was written and how long it is, in bytes; zero for one
// that is not there.
type stamp struct {
	nanos int64
	size  int64
}

func stampOf(file string) stamp {
	stat, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{stat.ModTime().UnixNano(), stat.Size()}
}
