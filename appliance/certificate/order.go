package certificate

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
)

// orders orders certificates from one ACME server.
type orders struct {
	Options
	folder     folder
	challenges *challenges
	transport  *http.Transport
}

// order proves that domain is ours and returns the PEM of a new key and the
// chain for it. The terms of the ACME server are accepted: whoever does not,
// builds no Keeper.
func (o *orders) order(ctx context.Context, domain string) ([]byte, error) {
	client, err := o.register(ctx)
	if err != nil {
		return nil, fmt.Errorf("registering with %s: %w", o.Directory, err)
	}
	proven, err := o.prove(ctx, client, domain)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{domain}}, key)
	if err != nil {
		return nil, err
	}
	chain, _, err := client.CreateCertFromOrder(ctx, proven, request, true)
	if err != nil {
		return nil, fmt.Errorf("fetching the certificate: %w", err)
	}
	return pairPEM(key, chain)
}

// register returns a client whose account the server knows. It asks each time: a
// server may have forgotten.
func (o *orders) register(ctx context.Context) (*acme.Client, error) {
	key, err := o.folder.account()
	if err != nil {
		return nil, err
	}
	client := &acme.Client{
		Key:          key,
		DirectoryURL: o.Directory,
		HTTPClient:   &http.Client{Transport: o.transport},
		UserAgent:    "holdmail",
	}
	account := &acme.Account{}
	if o.Email != "" {
		account.Contact = []string{"mailto:" + o.Email}
	}
	_, err = client.Register(ctx, account, acme.AcceptTOS)
	if err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	return client, nil
}

// transportTo asks servers that ca vouches for; nil is the system's say.
func transportTo(ca *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   &tls.Config{RootCAs: ca, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   30 * time.Second, // it is months to the next order
	}
}

// prove returns an order whose proofs of control the server has accepted. Each
// kind of proof is tried in an order of its own: a failed one spoils the order.
func (o *orders) prove(ctx context.Context, client *acme.Client, domain string) (*acme.Order, error) {
	kinds := []string{"tls-alpn-01"}
	if o.HTTP {
		kinds = append(kinds, "http-01")
	}
	var errs []error
	for _, kind := range kinds {
		order, err := o.proveBy(ctx, client, kind, domain)
		if err == nil {
			return order, nil
		}
		errs = append(errs, fmt.Errorf("proving control of %s by %s: %w", domain, kind, err))
	}
	return nil, errors.Join(errs...)
}

// proveBy makes an order and proves control by one kind of challenge.
func (o *orders) proveBy(ctx context.Context, client *acme.Client, kind, domain string) (*acme.Order, error) {
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(domain))
	if err != nil {
		return nil, err
	}
	for _, url := range order.AuthzURLs {
		if err := o.authorize(ctx, client, url, kind, domain); err != nil {
			return nil, err
		}
	}
	return client.WaitOrder(ctx, order.URI)
}

// authorize answers one challenge and waits for the server's verdict. The server may
// remember an earlier one.
func (o *orders) authorize(ctx context.Context, client *acme.Client, url, kind, domain string) error {
	authorization, err := client.GetAuthorization(ctx, url)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	i := slices.IndexFunc(authorization.Challenges, func(c *acme.Challenge) bool { return c.Type == kind })
	if i < 0 {
		return errors.New("the server does not offer it")
	}
	challenge := authorization.Challenges[i]
	withdraw, err := o.challenges.answer(client, challenge, domain)
	if err != nil {
		return err
	}
	defer withdraw()
	if _, err := client.Accept(ctx, challenge); err != nil {
		return err
	}
	_, err = client.WaitAuthorization(ctx, authorization.URI)
	return err
}

// pairPEM is a key and its chain as one PEM text.
func pairPEM(key *ecdsa.PrivateKey, chain [][]byte) ([]byte, error) {
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(text)
	for _, der := range chain {
		if err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
