package didcomm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/mailbox"
	"github.com/holdmail/holdmail/storage"
)

// listed is a message of mails' as a fetch lists it.
func listed(id, body string) string {
	return fmt.Sprintf(`{"id":%q,"message":%q,"received":"2026-01-02T03:04:05.678Z"}`, id, body)
}

const id3 = "33333333-3333-4333-8333-333333333333"

// three puts three messages into the mailbox. A body can be read once.
func (r relay) three() {
	r.mail.waiting = []storage.Message{message(id1, "a"), message(id2, "b"), message(id3, "c")}
}

func TestFetchAPage(t *testing.T) {
	a, b, c := listed(id1, "a"), listed(id2, "b"), listed(id3, "c")
	for _, tt := range []struct{ asked, want string }{
		{``, `{"messages":[` + a + `,` + b + `,` + c + `]}`},
		{`,"wait":0,"next":false`, `{"messages":[` + a + `,` + b + `,` + c + `]}`},
		{`,"wait":60`, `{"messages":[` + a + `,` + b + `,` + c + `]}`},
		{`,"limit":1`, `{"messages":[` + a + `],"more":true}`},
		{`,"limit":2`, `{"messages":[` + a + `,` + b + `],"more":true}`},
		{`,"limit":3`, `{"messages":[` + a + `,` + b + `,` + c + `],"more":false}`},
		{`,"limit":1000`, `{"messages":[` + a + `,` + b + `,` + c + `],"more":false}`},
		{`,"limit":1,"after":"` + id1 + `"`, `{"messages":[` + b + `],"more":true}`},
		{`,"limit":1,"after":"` + id2 + `"`, `{"messages":[` + c + `],"more":false}`},
		{`,"limit":1,"after":"` + id3 + `"`, `{"messages":[],"more":false}`},
		{`,"after":"` + id1 + `"`, `{"messages":[` + b + `,` + c + `],"more":false}`},
		{`,"after":"` + id3 + `"`, `{"messages":[],"more":false}`},
		{`,"next":true`, `{"messages":[` + a + `,` + b + `,` + c + `],"challenge":"next-1"}`},
		{`,"next":true,"limit":1`, `{"messages":[` + a + `],"more":true,"challenge":"next-1"}`},
	} {
		t.Run(tt.asked, func(t *testing.T) {
			r := newRelay("")
			r.three()
			res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", tt.asked))
			check(t, res, body, 200, tt.want)
		})
	}
}

func TestAMessageThatIsGoneFillsNoPage(t *testing.T) {
	r := newRelay("")
	r.three()
	r.mail.waiting[0].Body = pieces{err: fmt.Errorf("reading: %w", storage.ErrGone)}
	res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"limit":1`))
	check(t, res, body, 200, `{"messages":[`+listed(id2, "b")+`],"more":true}`)
}

func TestWhatIsWrongWithAPageIsToldAfterTheChallengeIsSpent(t *testing.T) {
	const (
		wait  = "wait must be a whole number from 0 to 60"
		limit = "limit must be a whole number from 1 to 1000"
		after = "after must be the id of a message"
	)
	for _, tt := range []struct{ asked, want string }{
		{`,"wait":-1`, wait}, {`,"wait":61`, wait}, {`,"wait":1.5`, wait}, {`,"wait":1e1`, wait}, {`,"wait":"5"`, wait},
		{`,"wait":null`, wait}, {`,"wait":true`, wait}, {`,"wait":99999999999999999999`, wait}, {`,"wait":[5]`, wait},
		{`,"limit":0`, limit}, {`,"limit":1001`, limit}, {`,"limit":"1"`, limit}, {`,"limit":null`, limit}, {`,"limit":-1`, limit},
		{`,"after":1`, after}, {`,"after":null`, after}, {`,"after":""`, after}, {`,"after":"x"`, after},
		{`,"after":"` + strings.Repeat("x", 1<<20) + `"`, after},
		{`,"after":"44444444-4444-4444-8444-444444444444"`, "after is not an id of this mailbox"},
		{`,"after":"44444444-4444-4444-8444-444444444444","wait":60`, "after is not an id of this mailbox"},
		{`,"next":1`, "next must be true or false"}, {`,"next":"true"`, "next must be true or false"}, {`,"next":null`, "next must be true or false"},
		{`,"audience":""`, "audience must be a string that is not empty"}, {`,"audience":null`, "audience must be a string that is not empty"},
		{`,"audience":["https://relay.example/didcomm"]`, "audience must be a string that is not empty"},
	} {
		r := newRelay("")
		r.three()
		res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", tt.asked))
		check(t, res, body, 400, fmt.Sprintf(`{"error":%q}`, tt.want))
		if len(r.gate.spent) != 1 || r.gate.issued != 0 {
			t.Errorf("%.40s: spent %d, issued %d; want 1, 0", tt.asked, len(r.gate.spent), r.gate.issued)
		}
	}
}

func TestRemoveWithANextChallenge(t *testing.T) {
	ids := `,"ids":["` + id1 + `"]`
	r := newRelay("")
	res, body := r.ask(t, "POST", removePath, claim(ann, "live", "ann", ids+`,"next":true`))
	check(t, res, body, 200, `{"removed":1,"challenge":"next-1"}`)
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	res, body = r.ask(t, "POST", removePath, claim(ann, "live", "ann", ids+`,"next":1`))
	check(t, res, body, 400, `{"error":"next must be true or false"}`)
	res, body = r.ask(t, "POST", removePath, claim(ann, "live", "ann", ids+`,"wait":"what a fetch has is nothing to a remove"`))
	check(t, res, body, 200, `{"removed":1}`)
}

func TestANextChallengeThatIsRefusedIsLeftOut(t *testing.T) {
	for _, err := range []error{storage.ErrTooManyChallenges, errors.New("/secret: EIO")} {
		r := newRelay("")
		r.gate.nextErr = fmt.Errorf("issuing: %w", err)
		res, body := r.ask(t, "POST", removePath, claim(ann, "live", "ann", `,"ids":["`+id1+`"],"next":true`))
		check(t, res, body, 200, `{"removed":1}`)
		res, body = r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"next":true`))
		check(t, res, body, 200, `{"messages":[]}`)
	}
}

func TestACallThatFailsIssuesNoNextChallenge(t *testing.T) {
	r := newRelay("")
	r.ask(t, "POST", fetchPath, claim(ann, "live", "bob", `,"next":true`))
	r.ask(t, "POST", removePath, claim(ann, "dead", "ann", `,"ids":[],"next":true`))
	r.mail.err = storage.ErrClosed
	r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"next":true`))
	r.ask(t, "POST", removePath, claim(ann, "live", "ann", `,"ids":[],"next":true`))
	if r.gate.issued != 0 {
		t.Errorf("%d challenges were issued", r.gate.issued)
	}
}

func TestABoundChallengeNamesItsAudience(t *testing.T) {
	r := newRelay("https://relay.example/didcomm")
	res, body := r.ask(t, "GET", "/api/v1/challenge?did=did:cid:ann", "")
	check(t, res, body, 200, `{"challenge":"challenge-1-for-did:cid:ann","audience":"https://relay.example/didcomm"}`)
	res, body = r.ask(t, "GET", "/api/v1/challenge?other=did:cid:ann", "")
	check(t, res, body, 200, `{"challenge":"challenge-2"}`)
	for _, query := range []string{"did=", "did", "did=ann", "did=did:cid:ann%23key-1", "did=did:cid:ann&did=did:cid:ann"} {
		for _, method := range []string{"GET", "HEAD"} {
			if res, body := r.ask(t, method, "/api/v1/challenge?"+query, ""); res.StatusCode != 400 {
				t.Errorf("%s %s = %d %s, want 400", method, query, res.StatusCode, body)
			}
		}
	}
	res, body = r.ask(t, "HEAD", "/api/v1/challenge?did=did:cid:ann", "")
	check(t, res, body, 200, "")
	if r.gate.issued != 2 {
		t.Errorf("%d challenges were issued, want 2", r.gate.issued)
	}
	res, body = newRelay("").ask(t, "GET", "/api/v1/challenge?did=did:web:relay.example%253A8443", "")
	check(t, res, body, 200, `{"challenge":"challenge-1-for-did:web:relay.example%3A8443"}`)
}

func TestAProofMayHaveAnAudience(t *testing.T) {
	r := newRelay("https://relay.example/didcomm")
	res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"audience":"https://relay.example/didcomm"`))
	check(t, res, body, 200, `{"messages":[]}`)
	if got := r.gate.spent[0].Audience; got != "https://relay.example/didcomm" {
		t.Errorf("the gate is told of %q", got)
	}
	res, body = r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"audience":"https://evil.example"`))
	check(t, res, body, 401, `{"error":"proof is meant for another relay"}`)
}

func TestAFetchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay("")
		start := time.Now()
		res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", `,"wait":60,"limit":5,"next":true`))
		check(t, res, body, 200, `{"messages":[],"more":false,"challenge":"next-1"}`)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it waited %v, want a minute", took)
		}

		w := httptest.NewRecorder()
		go r.ServeHTTP(w, httptest.NewRequest("POST", fetchPath, strings.NewReader(claim(ann, "live", "ann", `,"wait":60`))))
		synctest.Wait()
		if w.Body.Len() > 0 {
			t.Fatalf("it answered %s before there was a message", w.Body)
		}
		r.mail.waiting = []storage.Message{message(id1, "a")}
		if res, body := r.ask(t, "POST", "/api/v1/messages", envelope); res.StatusCode != 200 {
			t.Fatalf("deposit: %d %s", res.StatusCode, body)
		}
		synctest.Wait()
		if got, want := w.Body.String(), `{"messages":[`+listed(id1, "a")+`]}`; got != want {
			t.Errorf("it answered %s, want %s", got, want)
		}
	})
}

func FuzzFetchBody(f *testing.F) {
	for _, more := range []string{"", `,"limit":1`, `,"after":"` + id1 + `"`, `,"next":true`, `,"wait":60,"limit":1e3`, `,"after":"\ud800"`, `,"limit":1,"limit":2`} {
		f.Add(claim(ann, "live", "ann", more))
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := newRelay("")
		r.door.Mailbox = &mailbox.Service{Store: r.mail} // where nobody waits
		r.three()
		res, answer := r.ask(t, "POST", fetchPath, body)
		if !json.Valid([]byte(answer)) {
			t.Fatalf("answer = %s", answer)
		}
		switch res.StatusCode {
		case 200, 401, 503:
			if len(r.gate.spent) != 1 {
				t.Fatalf("spent %v", r.gate.spent)
			}
		case 400, 413:
		default:
			t.Fatalf("status = %d", res.StatusCode)
		}
	})
}
