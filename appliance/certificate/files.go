package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// lookEvery is how long the files are taken to be what they were.
const lookEvery = 2 * time.Second

// Files is a certificate and its key in two files, which may change.
type Files struct {
	chain, key string
	log        *slog.Logger
	readFile   func(string) ([]byte, error)

	mu     sync.Mutex // guards all below; held while the files are read
	pair   *tls.Certificate
	seen   stamps    // of the files that pair is from
	looked time.Time // at the files
	ill    string    // why they were of no use then; "" when they were
}

// OpenFiles reads a pair: chain is a PEM file of the certificate and what leads
// to its root, key one of its private key.
func OpenFiles(chain, key string, log *slog.Logger) (*Files, error) {
	f := &Files{chain: chain, key: key, log: log, readFile: os.ReadFile}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Certificate is tls.Config's GetCertificate. It reads the files again when they
// have changed, which it looks for every two seconds at most. A new pair that
// cannot be read, is broken, or of which only one half is there yet, leaves the old
// one in use and is tried again at the next look.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookEvery {
		return f.pair, nil
	}
	f.looked = time.Now()
	if f.stamps() == f.seen {
		f.ill = ""
		return f.pair, nil
	}
	if err := f.read(); err != nil {
		f.complain(err.Error())
		return f.pair, nil
	}
	f.ill = ""
	f.log.Info("the certificate was read again", "until", f.pair.Leaf.NotAfter)
	return f.pair, nil
}

// complain logs why the files are of no use, once until that changes.
func (f *Files) complain(cause string) {
	if cause != f.ill {
		f.log.Warn("the new certificate is of no use, the old one stays", "cause", cause)
	}
	f.ill = cause
}

// read takes the pair from the files, or leaves the one there was. The stamps are
// from before it reads, so that what changes meanwhile is seen the next time, and
// are kept only with the pair: files that could not be read are not done with.
func (f *Files) read() error {
	seen := f.stamps()
	chain, err := f.readFile(f.chain)
	if err != nil {
		return err
	}
	key, err := f.readFile(f.key)
	if err != nil {
		return err
	}
	pair, err := parse(chain, key)
	if err != nil {
		return fmt.Errorf("%s with %s: %w", f.chain, f.key, err)
	}
	f.pair, f.seen = pair, seen
	return nil
}

// stamps tell whether the files are what they were.
type stamps struct{ chain, key stamp }

func (f *Files) stamps() stamps { return stamps{stampOf(f.chain), stampOf(f.key)} }

// stamp is which file there is, and when it was written and changed in any other way,
// such as in who may read it; zero for none.
type stamp struct {
	inode            uint64
	size             int64 // bytes
	written, changed syscall.Timespec
}

func stampOf(file string) stamp {
	var stat syscall.Stat_t
	if err := syscall.Stat(file, &stat); err != nil {
		return stamp{}
	}
	return stamp{stat.Ino, stat.Size, stat.Mtim, stat.Ctim}
}
