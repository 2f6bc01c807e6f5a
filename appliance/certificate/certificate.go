// Package certificate finds the certificate that a TLS handshake is answered
// with: one in files that somebody else renews, or one that it orders and renews
// itself from an ACME server (RFC 8555).
//
// It knows nothing of what is said over the connections, and it never leaves a
// handshake without a certificate because of the clock: a board without a
// battery starts in 1970, and its callers know the time better.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// ErrNone answers a handshake for which there is no certificate yet.
var ErrNone = errors.New("no certificate yet")

// Authorities reads the certificates of those whose word is trusted from a PEM
// file. It fails if there is none in it.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// parse reads a pair from its PEM text, and checks that key and certificate
// belong together. The result's Leaf is set.
func parse(chain, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	return &pair, nil
}
