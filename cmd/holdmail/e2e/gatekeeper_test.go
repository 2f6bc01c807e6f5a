package e2e

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const didPath = "/api/v1/did/"

// gatekeeper answers for the DIDs that were published with it, as the real one
// does: 200 for a DID it does not know too. Unlike the real one it takes a
// document as it is, by PUT, so that any client can publish.
type gatekeeper struct {
	*httptest.Server

	mu        sync.Mutex        // guards documents
	documents map[string]string // by DID, spelled as in the request
}

func startGatekeeper(t testing.TB) *gatekeeper {
	t.Helper()
	g := &gatekeeper{documents: make(map[string]string)}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

// publish makes document what the Gatekeeper says about did from now on.
func (g *gatekeeper) publish(did, document string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.documents[did] = document
}

// ServeHTTP answers a GET with the published document, and takes one by PUT.
func (g *gatekeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	did, ok := strings.CutPrefix(r.RequestURI, didPath)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPut {
		document, _ := io.ReadAll(r.Body)
		g.publish(did, string(document))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	g.mu.Lock()
	document, ok := g.documents[did]
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		io.WriteString(w, `{"didDocument":{},"didDocumentMetadata":{},"didResolutionMetadata":{"error":"notFound"}}`)
		return
	}
	io.WriteString(w, `{"didDocument":`+document+`,"didDocumentMetadata":{},"didResolutionMetadata":{}}`)
}

// document is the DID document that names w's key first.
func (w wallet) document() string {
	point := w.key.PubKey().SerializeUncompressed()
	document, err := json.Marshal(map[string]any{
		"id": w.DID,
		"verificationMethod": []any{map[string]any{
			"id":         "#key-1",
			"controller": w.DID,
			"type":       "EcdsaSecp256k1VerificationKey2019",
			"publicKeyJwk": map[string]string{
				"kty": "EC",
				"crv": "secp256k1",
				"x":   base64.RawURLEncoding.EncodeToString(point[1:33]),
				"y":   base64.RawURLEncoding.EncodeToString(point[33:]),
			},
		}},
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(document)
}
