package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificate writes a certificate for 127.0.0.1, which vouches for itself, and
// its key.
func certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: certificate cert.pem key.pem")
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	ts.Check(err)
	write := func(name, kind string, der []byte) {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write(args[0], "CERTIFICATE", server.Certificate().Raw)
	write(args[1], "PRIVATE KEY", key)
}
