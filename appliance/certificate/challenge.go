package certificate

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"sync"

	"golang.org/x/crypto/acme"
)

// challenges are the questions of an ACME server that have an answer just now.
type challenges struct {
	mu     sync.Mutex                  // guards both
	byTLS  map[string]*tls.Certificate // by domain
	byHTTP map[string]string           // by path
}

func newChallenges() *challenges {
	return &challenges{byTLS: map[string]*tls.Certificate{}, byHTTP: map[string]string{}}
}

// answer lets the server find the answer to c, until withdraw is called.
func (cs *challenges) answer(client *acme.Client, c *acme.Challenge, domain string) (withdraw func(), err error) {
	switch c.Type {
	case "tls-alpn-01":
		pair, err := client.TLSALPN01ChallengeCert(c.Token, domain)
		if err != nil {
			return nil, err
		}
		return put(cs, cs.byTLS, domain, &pair), nil
	case "http-01":
		text, err := client.HTTP01ChallengeResponse(c.Token)
		if err != nil {
			return nil, err
		}
		return put(cs, cs.byHTTP, client.HTTP01ChallengePath(c.Token), text), nil
	}
	return nil, fmt.Errorf("no answer to a challenge %q", c.Type)
}

// put keeps an answer, and returns how to take it away.
func put[A any](cs *challenges, answers map[string]A, key string, a A) (withdraw func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	answers[key] = a
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(answers, key)
	}
}

// certificate answers a TLS-ALPN-01 question about domain.
func (cs *challenges) certificate(domain string) (*tls.Certificate, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if pair := cs.byTLS[domain]; pair != nil {
		return pair, nil
	}
	return nil, ErrNone
}

// ServeHTTP answers an HTTP-01 question.
func (cs *challenges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cs.mu.Lock()
	text, ok := cs.byHTTP[r.URL.Path]
	cs.mu.Unlock()
	if !ok {
		http.Error(w, "this port answers certificate challenges only; ask by https", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.WriteString(w, text) // to an asker who went away
}
