package egress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/egress"
)

// authority vouches for the certificates it makes, and for nothing else.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "holdmail tests"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{key: key}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a certificate for name, or for 127.0.0.1 if that is "", which is valid
// for two hours until then.
func (a authority) issue(t testing.TB, name string, until time.Time) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name == "" {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// trust is a client's, who knows a alone.
func (a authority) trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return &tls.Config{RootCAs: pool}
}

// serve is an HTTPS server on loopback with that certificate.
func serve(t testing.TB, with tls.Certificate, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{with}}
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// listen answers each connection on loopback with what talk does, and closes it.
func listen(t testing.TB, talk func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	t.Cleanup(func() { l.Close(); g.Wait() })
	g.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.Go(func() {
				defer conn.Close()
				talk(conn)
			})
		}
	})
	return l.Addr().String()
}

// silence says nothing for as long as the caller stays.
func silence(conn net.Conn) { io.Copy(io.Discard, conn) }

// nobody is an address where no one listens: tests are given ports far above it.
const nobody = "127.0.0.1:1"

// send sends "sealed" to an endpoint.
func send(t testing.TB, c *egress.Courier, to string) ([]byte, error) {
	t.Helper()
	e, err := egress.ParseEndpoint(to)
	if err != nil {
		t.Fatal(err)
	}
	return c.Send(t.Context(), e, "application/sealed", []byte("sealed"))
}

// wantFailure fails the test unless err is a failure of party, in these words.
func wantFailure(t testing.TB, err error, party egress.Party, words string) *egress.Failure {
	t.Helper()
	f, ok := errors.AsType[*egress.Failure](err)
	if !ok || f.Party != party || f.Message != words {
		t.Errorf("error = %v (%+v)\nwant a failure of %s: %s", err, f, party, words)
		return &egress.Failure{}
	}
	return f
}
