package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// more are members of a fetch or a remove besides the proof's.
type more map[string]any

// pickup is the answer to a fetch or a remove, as far as it has these members.
type pickup struct {
	Messages  []message
	Removed   int
	More      *bool
	Challenge string
}

// claim is a proof with more members; one of the proof's own is replaced.
func (w wallet) claim(challenge string, members more) []byte {
	all := more{"did": w.DID, "challenge": challenge, "signature": w.sign(challenge)}
	maps.Copy(all, members)
	body, err := json.Marshal(all)
	if err != nil {
		panic(err) // what a test writes always marshals
	}
	return body
}

// pickUp makes one call of an owner's, "fetch" or "remove".
func (r *relay) pickUp(w wallet, call, challenge string, members more) (p pickup, err error) {
	return p, r.ask(http.MethodPost, "/api/v1/messages/"+call, "application/json", w.claim(challenge, members), &p)
}

// mustPickUp is pickUp with a challenge that it asks for, if it is given none.
func (r *relay) mustPickUp(t testing.TB, w wallet, call, with string, members more) pickup {
	t.Helper()
	if with == "" {
		with = challenge(t, r)
	}
	p, err := r.pickUp(w, call, with, members)
	if err != nil {
		t.Fatalf("%s with %v: %v\n%s", call, members, err, r.log)
	}
	return p
}

// wantStatus fails the test unless err is a refusal with this status.
func wantStatus(t testing.TB, err error, status int) {
	t.Helper()
	var no *refusal
	if !errors.As(err, &no) || no.Status != status {
		t.Errorf("answered with %v, want %d", err, status)
	}
}

// TestPages: page by page a mailbox is read whole and once, while mail arrives,
// what was read is removed, and the relay stops, starts and dies.
func TestPages(t *testing.T) {
	t.Parallel()
	r, w, other := startRelay(t), newWallet(t), newWallet(t)
	var want, got []string
	arrive := func() {
		want = append(want, mustFile(t, r, envelope(300+len(want)*97, fmt.Sprint(len(want)), w)))
		mustFile(t, r, envelope(300, "between", other))
	}
	for range 20 {
		arrive()
	}
	page := more{"limit": 3}
	for more := true; more; {
		p := r.mustPickUp(t, w, "fetch", "", page)
		if p.More == nil || len(p.Messages) > 3 || *p.More && len(p.Messages) < 3 {
			t.Fatalf("a page of %d messages, more is %v", len(p.Messages), p.More)
		}
		more = *p.More
		for _, m := range p.Messages {
			got = append(got, m.ID)
		}
		page["after"] = got[len(got)-1]
		switch len(got) {
		case 3:
			arrive()
			r.mustPickUp(t, w, "remove", "", map[string]any{"ids": got[1:3]}) // its place counts still
		case 9:
			r.stop(t)
			r.start(t)
		case 12:
			arrive()
			r.kill(t)
			r.start(t)
		case 18:
			r.mustPickUp(t, w, "remove", "", map[string]any{"ids": got})
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d messages in %d pages' order %q; want %d: %q", len(got), len(got)/3, got, len(want), want)
	}
}

func TestAPageBeginsAfterAnIDOfTheMailbox(t *testing.T) {
	t.Parallel()
	r, w, other := startRelay(t), newWallet(t), newWallet(t)
	mine, theirs := mustFile(t, r, envelope(300, "mine", w)), mustFile(t, r, envelope(300, "theirs", other))
	for _, after := range []any{theirs, "no id", "", 1, nil} {
		c := challenge(t, r)
		_, err := r.pickUp(w, "fetch", c, more{"after": after})
		wantStatus(t, err, http.StatusBadRequest)
		_, err = r.pickUp(w, "fetch", c, nil) // it was spent
		wantStatus(t, err, http.StatusUnauthorized)
	}
	p := r.mustPickUp(t, w, "fetch", "", more{"after": mine})
	if len(p.Messages) != 0 || p.More == nil || *p.More {
		t.Errorf("after the newest: %+v", p)
	}
}

// TestOneRequestPolls: with a challenge in every answer, a poll is one call and a
// pickup two.
func TestOneRequestPolls(t *testing.T) {
	t.Parallel()
	r, w := startRelay(t), newWallet(t)
	next := challenge(t, r)
	for range 5 {
		p := r.mustPickUp(t, w, "fetch", next, more{"next": true})
		mustRefuse(t, r, w, next)
		next = p.Challenge
	}
	id := mustFile(t, r, envelope(300, "letter", w))
	p := r.mustPickUp(t, w, "fetch", next, more{"next": true})
	if len(p.Messages) != 1 || p.Messages[0].ID != id {
		t.Fatalf("fetched %+v, want %s", p.Messages, id)
	}
	p = r.mustPickUp(t, w, "remove", p.Challenge, more{"next": true, "ids": []string{id}})
	if p.Removed != 1 {
		t.Errorf("removed %d, want 1", p.Removed)
	}
	p = r.mustPickUp(t, w, "fetch", p.Challenge, nil)
	if len(p.Messages) != 0 || p.Challenge != "" {
		t.Errorf("a fetch that asked for no challenge: %+v", p)
	}
}

// TestTheNextChallengeCountsToItsSource: one who has its share goes without, and
// its call has succeeded all the same.
func TestTheNextChallengeCountsToItsSource(t *testing.T) {
	t.Parallel()
	r, w := budgeted(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=10"), newWallet(t)
	const source = "203.0.113.1" // may hold one
	fetch := func(challenge string, members more) (p pickup) {
		t.Helper()
		a := r.mustFrom(t, source, http.MethodPost, "/api/v1/messages/fetch", w.claim(challenge, members))
		if err := json.Unmarshal(a.Body, &p); a.Status != http.StatusOK || err != nil {
			t.Fatalf("fetch: %d %s, %v", a.Status, a.Body, err)
		}
		return p
	}
	others := []string{challenge(t, r), challenge(t, r)} // nobody's
	held := fetch(others[0], more{"next": true}).Challenge
	if held == "" {
		t.Fatal("no challenge for a source that holds none")
	}
	if p := fetch(others[1], more{"next": true}); p.Challenge != "" || p.Messages == nil {
		t.Errorf("a source that has its share got %+v", p)
	}
	if p := fetch(held, more{"next": true}); p.Challenge == "" {
		t.Error("no challenge in exchange for the one held")
	}
}

// bound asks for a challenge for one DID.
func (r *relay) bound(t testing.TB, w wallet) (challenge, audience string) {
	t.Helper()
	var got struct{ Challenge, Audience string }
	if err := r.ask(http.MethodGet, "/api/v1/challenge?did="+url.QueryEscape(w.DID), "", nil, &got); err != nil {
		t.Fatal(err)
	}
	return got.Challenge, got.Audience
}

// TestABoundChallenge: it is good for one DID and once, also after a restart.
func TestABoundChallenge(t *testing.T) {
	t.Parallel()
	r, ann, eve := startRelay(t), newWallet(t), newWallet(t)
	c, audience := r.bound(t, ann)
	if audience != "" {
		t.Errorf("a relay without a public URL says that it is %q", audience)
	}
	mustRefuse(t, r, eve, c)
	mustRefuse(t, r, ann, c) // eve has spent it

	kept, spent := func() string { c, _ := r.bound(t, ann); return c }(), func() string { c, _ := r.bound(t, ann); return c }()
	r.stop(t)
	r.start(t)
	mustRefuse(t, r, eve, spent)
	mustRefuse(t, r, ann, spent)
	p := r.mustPickUp(t, ann, "fetch", kept, more{"next": true})
	mustRefuse(t, r, eve, p.Challenge) // bound as well
	mustRefuse(t, r, ann, kept)

	for _, query := range []string{"?did=", "?did=ann", "?did=did:key:z1%23z1"} {
		a, err := r.call(http.MethodGet, "/api/v1/challenge"+query, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, a, http.StatusBadRequest)
	}
}

// TestAProofForOneRelay: whoever signs the relay's name too is safe from a relay
// that passes on another's challenge.
func TestAProofForOneRelay(t *testing.T) {
	t.Parallel()
	const here, there = "https://relay.example/didcomm", "https://evil.example/didcomm"
	r, w := startRelay(t, "HOLDMAIL_PUBLIC_URL=https://relay.example"), newWallet(t)
	proof := func(signed, said string) error {
		c, audience := r.bound(t, w)
		if audience != here {
			t.Fatalf("the relay says that it is %q, want %q", audience, here)
		}
		members := more{"signature": w.sign("holdmail pickup\n" + signed + "\n" + c)}
		if said != "" {
			members["audience"] = said
		}
		_, err := r.pickUp(w, "fetch", c, members)
		return err
	}
	if err := proof(here, here); err != nil {
		t.Errorf("a proof for this relay: %v", err)
	}
	wantStatus(t, proof(there, there), http.StatusUnauthorized)
	wantStatus(t, proof(there, here), http.StatusUnauthorized)
	wantStatus(t, proof(there, ""), http.StatusUnauthorized)
	wantStatus(t, proof(here, ""), http.StatusUnauthorized)
	wantStatus(t, proof(here, there), http.StatusUnauthorized)
}
