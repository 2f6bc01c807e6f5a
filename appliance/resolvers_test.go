package appliance

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

func TestSetAndOrderOfResolversAreASetting(t *testing.T) {
	const (
		keyed = did.ID("did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme")
		cid   = did.ID("did:cid:ann")
	)
	for _, tt := range []struct {
		resolvers string
		asked     []string // of the Gatekeeper
		found     []did.ID
	}{
		{"", []string{string(cid)}, []did.ID{keyed, cid}},
		{"gatekeeper", []string{string(keyed), string(cid)}, []did.ID{keyed, cid}},
		{"gatekeeper,key", []string{string(keyed), string(cid)}, []did.ID{keyed, cid}},
		{"web,key", nil, []did.ID{keyed}},
		{"jwk,peer", nil, nil},
	} {
		t.Run(tt.resolvers, func(t *testing.T) {
			var asked []string
			gatekeeper := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path[len("/api/v1/did/"):])
				fmt.Fprint(w, `{"didDocument":{"verificationMethod":[{"publicKeyJwk":{"kty":"EC","crv":"secp256k1","x":"h0wVx_2iDlOcblulc8E5iEw1EYh5n1RYtLQfeSTyNc0","y":"O2EATIGbu6DezKFptj5scAIRntgfecanVNXxat1rnwE"}}]}}`)
			}))
			defer gatekeeper.Close()
			c, _, err := Load(Flags{}, []string{"HOME=/root", "ARCHON_GATEKEEPER_URL=" + gatekeeper.URL, "HOLDMAIL_RESOLVERS=" + tt.resolvers})
			if err != nil {
				t.Fatal(err)
			}
			r, err := openResolvers(c)
			if err != nil {
				t.Fatal(err)
			}
			var found []did.ID
			for _, id := range []did.ID{keyed, cid} {
				doc, err := r.Resolve(t.Context(), id)
				if err == nil && doc.ID == string(id) {
					found = append(found, id)
				} else if !errors.Is(err, resolve.ErrNotFound) {
					t.Errorf("%s: %v, %v", id, doc, err)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if !slices.Equal(asked, tt.asked) || !slices.Equal(found, tt.found) {
				t.Errorf("found %v and asked the Gatekeeper for %v, want %v and %v", found, asked, tt.found, tt.asked)
			}
		})
	}
}
