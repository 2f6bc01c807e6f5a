package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

const (
	orderTime  = 5 * time.Minute // for one certificate
	firstRetry = 2 * time.Minute // doubled with each failure
	lastRetry  = time.Hour
	tendEvery  = time.Minute // at most, so that a clock that is put right is seen
)

// Options say which certificates a Keeper keeps.
type Options struct {
	Domains   []string       // lower case, ASCII; the first answers those who name none
	Folder    string         // of the account and the certificates; made when needed
	Directory string         // URL of the ACME server
	CA        *x509.CertPool // who vouches for that server; nil asks the system
	Email     string         // where the ACME server may write to; "" is nowhere
	HTTP      bool           // Challenges is reachable at port 80, so that HTTP-01 may be tried
	Log       *slog.Logger
}

// Keeper has certificates by ACME: it orders those it lacks, and anew those of
// which two thirds of the time have passed.
//
// autocert does much of this and is not used, for four reasons: it refuses the
// pair it kept when the clock says so, its timers sleep through a clock that is
// put right, it lets strangers' handshakes wait for an order, and it has no end.
type Keeper struct {
	domains    []string
	folder     folder
	log        *slog.Logger
	challenges *challenges
	order      func(ctx context.Context, domain string) (pair []byte, err error) // PEM of key and chain
	wall       func() time.Time                                                  // may jump; waits are measured by time.Now, which does not

	mu    sync.RWMutex // guards pairs
	pairs map[string]*tls.Certificate

	retry map[string]retry // Keep's own
}

// retry is when a domain's next order may be made.
type retry struct {
	at   time.Time
	wait time.Duration
}

// OpenKeeper reads what an earlier run kept. A kept pair that cannot be read is
// as good as none; the log says so. Nothing is ordered before Keep.
func OpenKeeper(o Options) *Keeper {
	k := &Keeper{
		domains:    o.Domains,
		folder:     folder(o.Folder),
		log:        o.Log,
		challenges: newChallenges(),
		wall:       time.Now,
		pairs:      map[string]*tls.Certificate{},
		retry:      map[string]retry{},
	}
	k.order = (&orders{o, k.folder, k.challenges, transportTo(o.CA)}).order
	for _, domain := range k.domains {
		k.load(domain)
	}
	return k
}

// load takes the kept pair of domain into use.
func (k *Keeper) load(domain string) {
	pair, err := k.folder.pair(domain)
	if err == nil {
		k.pairs[domain] = pair
	} else if !errors.Is(err, fs.ErrNotExist) {
		k.log.Warn("the kept certificate is of no use", "domain", domain, "cause", err)
	}
}

// Protocols are what a tls.Config must offer besides HTTP's own, so that the
// ACME server can see by TLS that the domain is ours (RFC 8737).
func (k *Keeper) Protocols() []string { return []string{acme.ALPNProto} }

// Challenges answers an ACME server's HTTP-01 questions; it is for port 80.
// What is no such question is a 404.
func (k *Keeper) Challenges() http.Handler { return k.challenges }

// Certificate is tls.Config's GetCertificate: the newest pair of the domain
// that the caller names, whatever the clock says. A caller that names none of
// them gets the first domain's. It waits for nothing; without a pair the error
// is ErrNone.
func (k *Keeper) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
		return k.challenges.certificate(name)
	}
	pair := k.pair(name)
	if pair == nil {
		pair = k.pair(k.domains[0])
	}
	if pair == nil {
		return nil, ErrNone
	}
	return pair, nil
}

func (k *Keeper) pair(domain string) *tls.Certificate {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.pairs[domain]
}

// Keep orders and renews until ctx ends. Call it once, while callers are let in.
func (k *Keeper) Keep(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := tendEvery
		for _, domain := range k.domains {
			next = min(next, k.tend(ctx, domain))
		}
		timer.Reset(next)
	}
}

// tend orders a certificate for domain if one is due, and returns when to look
// again.
func (k *Keeper) tend(ctx context.Context, domain string) (next time.Duration) {
	if wait := untilDue(k.pair(domain), k.wall()); wait > 0 {
		return wait
	}
	if wait := time.Until(k.retry[domain].at); wait > 0 {
		return wait
	}
	err := k.renew(ctx, domain)
	wait := untilDue(k.pair(domain), k.wall())
	switch {
	case ctx.Err() != nil:
		return tendEvery
	case err == nil && wait > 0:
		delete(k.retry, domain)
		return wait
	case err == nil:
		err = errors.New("the new certificate is already old: this machine's clock is wrong")
	}
	r := retry{wait: min(max(firstRetry, 2*k.retry[domain].wait), lastRetry)}
	r.at = time.Now().Add(r.wait)
	k.retry[domain] = r
	k.log.Warn("no new certificate", "domain", domain, "cause", err, "again_in", r.wait)
	return r.wait
}

// untilDue is how long pair needs no successor. It needs none before it is
// valid: nobody is given a certificate in the future, so the clock is wrong.
func untilDue(pair *tls.Certificate, now time.Time) time.Duration {
	if pair == nil {
		return 0
	}
	from, to := pair.Leaf.NotBefore, pair.Leaf.NotAfter
	if now.Before(from) {
		return tendEvery
	}
	return to.Add(-to.Sub(from) / 3).Sub(now)
}

// renew orders a pair for domain, keeps it, and takes it into use.
func (k *Keeper) renew(ctx context.Context, domain string) error {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	text, err := k.order(ctx, domain)
	if err != nil {
		return err
	}
	pair, err := parse(text, text)
	if err == nil {
		err = pair.Leaf.VerifyHostname(domain)
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.pairs[domain] = pair
	k.mu.Unlock()
	k.log.Info("there is a new certificate", "domain", domain, "until", pair.Leaf.NotAfter)
	if err := k.folder.keepPair(domain, text); err != nil {
		k.log.Error("the new certificate is lost at the next start", "domain", domain, "cause", err)
	}
	return nil
}
