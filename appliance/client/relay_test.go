package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
	"github.com/holdmail/holdmail/storage"
)

// relay is a small relay with faults to choose from. It has a real gate.
type relay struct {
	gate auth.Gate

	mu   sync.Mutex // guards all below
	live map[string]bool
	held []client.Message
	to   []did.ID // of held, in the same order

	notReady, corrupts, replays, trusts, keeps bool // faults, set before it serves
	binds                                      bool // challenges to DIDs, which no relay did at first
}

func newRelay(t testing.TB, faults ...func(*relay)) (r *relay, base string) {
	t.Helper()
	r = &relay{live: map[string]bool{}}
	r.gate = auth.Gate{Challenges: r, Resolver: resolve.Key{}}
	for _, f := range faults {
		f(r)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"ready": !r.notReady}) })
	mux.HandleFunc("POST /api/v1/messages", r.deposit)
	mux.HandleFunc("GET /api/v1/challenge", r.challenge)
	mux.HandleFunc("POST /api/v1/messages/fetch", r.fetch)
	mux.HandleFunc("POST /api/v1/messages/remove", r.remove)
	root := http.NewServeMux()
	root.Handle("/", mux)
	root.Handle("/didcomm/", http.StripPrefix("/didcomm", mux))
	server := httptest.NewServer(root)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *relay) Issue(_ context.Context, challenge string, _ ...storage.Holder) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[challenge] = true
	return nil
}

func (r *relay) Consume(_ context.Context, challenge string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := r.live[challenge]
	r.live[challenge] = r.replays
	return live, nil
}

func (r *relay) deposit(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var e struct {
		Recipients []struct{ Header struct{ KID string } }
	}
	if req.Header.Get("Content-Type") != "application/didcomm-encrypted+json" || json.Unmarshal(body, &e) != nil || len(e.Recipients) == 0 {
		refuse(w, http.StatusBadRequest, "not an encrypted envelope")
		return
	}
	if r.corrupts {
		body[len(body)/2] ^= 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{}
	for _, to := range e.Recipients {
		owner, err := did.OfKeyID(to.Header.KID)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		id := fmt.Sprintf("id-%d", len(r.held))
		r.held = append(r.held, client.Message{ID: id, Envelope: string(body), Received: time.UnixMilli(1767225600123).UTC()})
		r.to = append(r.to, owner)
		ids = append(ids, id)
	}
	answer(w, map[string]any{"ids": ids})
}

func (r *relay) challenge(w http.ResponseWriter, req *http.Request) {
	text, err := r.gate.Challenge(req.Context())
	if r.binds {
		text, err = r.gate.BoundChallenge(req.Context(), did.ID(req.URL.Query().Get("did")))
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal error")
		return
	}
	answer(w, map[string]any{"challenge": text})
}

func (r *relay) fetch(w http.ResponseWriter, req *http.Request) {
	owner, _, ok := r.caller(w, req)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := []client.Message{}
	for i, m := range r.held {
		if r.to[i] == owner {
			mine = append(mine, m)
		}
	}
	answer(w, map[string]any{"messages": mine})
}

func (r *relay) remove(w http.ResponseWriter, req *http.Request) {
	owner, ids, ok := r.caller(w, req)
	if !ok {
		return
	}
	if ids == nil {
		refuse(w, http.StatusBadRequest, "ids must be an array")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	removed := 0
	for i, m := range r.held {
		if r.to[i] == owner && slices.Contains(ids, m.ID) {
			removed++
			if !r.keeps {
				r.to[i] = ""
			}
		}
	}
	answer(w, map[string]any{"removed": removed})
}

// caller reads who calls, and answers with a refusal if that is not proved.
func (r *relay) caller(w http.ResponseWriter, req *http.Request) (owner did.ID, ids []string, ok bool) {
	var body struct {
		auth.Proof
		IDs []string
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "not JSON")
		return "", nil, false
	}
	spent, err := r.gate.Spend(req.Context(), body.Proof)
	if err == nil {
		owner, err = r.gate.Verify(req.Context(), spent)
	}
	if err != nil && r.trusts && strings.Contains(err.Error(), auth.ErrSignature.Error()) {
		owner, err = did.ID(body.DID), nil
	}
	if err != nil {
		w.Header().Set("Retry-After", "7")
		refuse(w, http.StatusUnauthorized, err.Error())
		return "", nil, false
	}
	return owner, body.IDs, true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": sentence})
}
