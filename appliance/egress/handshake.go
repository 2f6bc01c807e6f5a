package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
)

// shakeHands secures a connection to an endpoint. What is sent before its
// certificate is known to be good is the handshake's, and nothing that a stranger
// chose but the host's name.
func shakeHands(ctx context.Context, conn net.Conn, to Endpoint, trust *tls.Config) (net.Conn, error) {
	config := trust.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.MinVersion = tls.VersionTLS12
	config.ServerName = to.Host
	config.NextProtos = []string{"http/1.1"}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, unsecured(err)
	}
	return secured, nil
}

// unsecured says why there was no handshake.
func unsecured(err error) *Failure {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case timedOut(err):
		return failed(TLS, "the endpoint did not complete the TLS handshake in time", err)
	case errors.As(err, new(x509.HostnameError)): // whose words tell both names
		return failed(TLS, "the endpoint's certificate is for another name", nil)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return failed(TLS, "the endpoint's certificate "+distrust(err), err)
	case errors.As(err, &record):
		return failed(TLS, "the endpoint does not speak TLS", err)
	case errors.As(err, &alert):
		return failed(TLS, "the endpoint refused the TLS handshake", err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return failed(TLS, "the endpoint hung up during the TLS handshake", err)
	}
	return failed(TLS, "the TLS handshake with the endpoint failed", err)
}

// distrust is what is wrong with a certificate.
func distrust(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "has expired, or is not valid yet"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "is from an authority that this relay does not know"
	}
	return "is not valid"
}
