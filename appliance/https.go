package appliance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/certificate"
)

// maxChallengers is how many connections the port for challenges has at one time.
const maxChallengers = 64

// HTTPS says where the certificate comes from: two files, or an ACME server. The
// zero value has none, and plain HTTP is served.
type HTTPS struct {
	CertFile, KeyFile string

	Domains       []string // to get a certificate for, by ACME
	AcceptTerms   bool     // those of the ACME server
	Email         string   // for the ACME server, "" is none
	Directory     string   // URL of the ACME server
	CAFile        string   // who vouches for that server; "" asks the system
	ChallengePort uint16   // answers HTTP-01 challenges; 0 is none
}

// On reports whether there is to be a certificate.
func (h HTTPS) On() bool { return h.CertFile != "" || len(h.Domains) > 0 }

// https is what answers TLS handshakes, and renews what it answers them with. Nil
// is plain HTTP.
type https struct {
	tls        *tls.Config
	keeper     *certificate.Keeper // nil for certificates in files
	challenges net.Listener        // for HTTP-01; nil for none
	log        *slog.Logger
}

// openHTTPS reads the certificate that there is, and opens the port for
// challenges if there is to be one. It is nil where plain HTTP is served.
func openHTTPS(c Config, log *slog.Logger) (*https, error) {
	switch {
	case c.HTTPS.CertFile != "":
		files, err := certificate.OpenFiles(c.HTTPS.CertFile, c.HTTPS.KeyFile, log)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate: %w", err)
		}
		return &https{tls: tlsConfig(files.Certificate), log: log}, nil
	case len(c.HTTPS.Domains) > 0:
		return openKeeper(c, log)
	}
	return nil, nil
}

func openKeeper(c Config, log *slog.Logger) (*https, error) {
	var ca *x509.CertPool
	if c.HTTPS.CAFile != "" {
		pool, err := certificate.Authorities(c.HTTPS.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the ACME server's CA: %w", err)
		}
		ca = pool
	}
	keeper := certificate.OpenKeeper(certificate.Options{
		Domains:   c.HTTPS.Domains,
		Folder:    acmeFolder(c),
		Directory: c.HTTPS.Directory,
		CA:        ca,
		Email:     c.HTTPS.Email,
		HTTP:      c.HTTPS.ChallengePort != 0,
		Log:       log,
	})
	h := &https{tls: tlsConfig(keeper.Certificate, keeper.Protocols()...), keeper: keeper, log: log}
	if c.HTTPS.ChallengePort == 0 {
		return h, nil
	}
	address := net.JoinHostPort(c.BindAddress, strconv.Itoa(int(c.HTTPS.ChallengePort)))
	l, err := listen(context.Background(), address, stallAfter)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, cause(err))
	}
	h.challenges = newCrowd(maxChallengers, func(net.Addr) string { return "" }).bounded(l)
	return h, nil
}

// handshakes is how listeners answer them; nil where plain HTTP is served.
func (h *https) handshakes() *tls.Config {
	if h == nil {
		return nil
	}
	return h.tls
}

// acmeFolder is where certificates are kept: each ACME server has a folder, so
// that no test server's certificate is taken for a real one.
func acmeFolder(c Config) string {
	server := c.HTTPS.Directory
	if u, err := url.Parse(server); err == nil {
		server = u.Host + u.Path
	}
	return filepath.Join(c.Data, "acme", url.PathEscape(server))
}

// tlsConfig speaks TLS 1.2 and later, and HTTP/2 over it.
func tlsConfig(pair func(*tls.ClientHelloInfo) (*tls.Certificate, error), more ...string) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: pair,
		NextProtos:     append([]string{"h2", "http/1.1"}, more...),
	}
}

// http2Limits bounds what one HTTP/2 connection makes this side hold before a
// door asks for it. By the library's own it may be several megabytes.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams:          32,
		MaxReadFrameSize:              16 << 10,
		MaxReceiveBufferPerConnection: 64 << 10,
		MaxReceiveBufferPerStream:     64 << 10,
		SendPingTimeout:               time.Minute,
		PingTimeout:                   stallAfter,
	}
}

// keep renews certificates and answers challenges until ctx ends.
func (h *https) keep(ctx context.Context) {
	if h == nil || h.keeper == nil {
		return
	}
	var g sync.WaitGroup
	defer g.Wait()
	if h.challenges != nil {
		server := &http.Server{
			Handler:        occupied(h.keeper.Challenges()),
			ReadTimeout:    10 * time.Second,
			WriteTimeout:   10 * time.Second,
			MaxHeaderBytes: 8 << 10,
			ConnContext:    introduce,
			ConnState:      rest,
			ErrorLog:       slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
		}
		server.SetKeepAlivesEnabled(false)
		g.Go(func() { _ = server.Serve(h.challenges) }) // which ends by Close
		defer server.Close()
	}
	h.keeper.Keep(ctx)
}

// Close releases the port for challenges.
func (h *https) Close() error {
	if h == nil || h.challenges == nil {
		return nil
	}
	if err := h.challenges.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
