package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority vouches for the certificates it makes, and for nothing else.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	File        string // its own certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t), File: filepath.Join(t.TempDir(), "ca.pem")}
	template := &x509.Certificate{
		SerialNumber: newSerial(t), Subject: pkix.Name{CommonName: "holdmail tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.File, "CERTIFICATE", der)
	return a
}

// pair is a certificate for 127.0.0.1, and names, and its key, in two files.
type pair struct {
	Chain, Key string
	leaf       *x509.Certificate
}

// issue makes a pair in a folder of its own.
func (a *authority) issue(t testing.TB, names ...string) pair {
	t.Helper()
	dir, key := t.TempDir(), newKey(t)
	template := &x509.Certificate{
		SerialNumber: newSerial(t), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem"), leaf}
	writePEM(t, p.Chain, "CERTIFICATE", der)
	writePEM(t, p.Key, "EC PRIVATE KEY", secret)
	return p
}

// pool trusts a alone.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// overTLS makes r's calls by https, to a relay whose certificate for name
// trusted vouches for.
func (r *relay) overTLS(trusted *x509.CertPool, name string) {
	r.URL = strings.Replace(r.URL, "http://", "https://", 1)
	r.trust = &tls.Config{RootCAs: trusted, ServerName: name}
	r.client = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64, DisableCompression: true, ForceAttemptHTTP2: true, TLSClientConfig: r.trust,
	}}
}

// serial shakes hands and returns the serial number of the relay's certificate.
func (r *relay) serial() (string, error) {
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.URL, "https://"), r.trust)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSerial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
