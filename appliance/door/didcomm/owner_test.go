package didcomm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/auth"
	"github.com/holdmail/holdmail/storage"
)

const (
	fetchPath  = "/api/v1/messages/fetch"
	removePath = "/api/v1/messages/remove"
)

// TestClaims are the answers that fetch and remove have in common.
func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		answer     string
		spent      bool
	}{
		{"nothing", ``, 400, "body is not a JSON object", false},
		{"an array", `[]`, 400, "body is not a JSON object", false},
		{"cut short", `{"did":"did:cid:ann","challenge":"live","signature":"ann"`, 400, "body is not a JSON object", false},
		{"no did", `{"challenge":"live","signature":"ann","ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"no challenge", `{"did":"did:cid:ann","signature":"ann","ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"no signature", `{"did":"did:cid:ann","challenge":"live","ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"a number", `{"did":"did:cid:ann","challenge":"live","signature":1,"ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"null", `{"did":null,"challenge":"live","signature":"ann","ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"letter case counts", `{"DID":"did:cid:ann","challenge":"live","signature":"ann","ids":[]}`, 400, "did, challenge and signature must be strings", false},
		{"not UTF-8", "{\"did\":\"\xff\"}", 400, "body is not UTF-8", false},
		{"over the limit", strings.Repeat(" ", 2<<20+1), 413, "body is over the limit of 2097152 bytes", false},
		{"no such challenge", claim(ann, "dead", "ann", `,"ids":[]`), 401, "challenge is unknown, expired or already used", true},
		{"wrong signature", claim(ann, "live", "bob", `,"ids":[]`), 401, "signature does not verify", true},
		{"no DID", claim("ann", "live", "ann", `,"ids":[]`), 400, "did is not a bare DID", true},
		{"DID with a query", claim(ann+"?versionId=1", "live", "ann", `,"ids":[]`), 400, "did is not a bare DID", true},
		{"resolver away", claim("did:cid:away", "live", "ann", `,"ids":[]`), 503, "the DID cannot be resolved now", true},
	} {
		for _, path := range []string{fetchPath, removePath} {
			t.Run(tt.name+path, func(t *testing.T) {
				r := newRelay("")
				res, body := r.ask(t, "POST", path, tt.body)
				check(t, res, body, tt.status, fmt.Sprintf(`{"error":%q}`, tt.answer))
				if got := len(r.gate.spent) == 1; got != tt.spent {
					t.Errorf("the challenge was spent: %v, want %v", got, tt.spent)
				}
				if retry := res.Header.Get("Retry-After") != ""; retry != (tt.status == 503) {
					t.Errorf("Retry-After = %q", res.Header.Get("Retry-After"))
				}
			})
		}
	}
}

func TestClaimIsJudgedByItsBytes(t *testing.T) {
	body := "\uFEFF \n" + `{"x":{"did":1},"\u0064id":"did:cid:\u0061nn","challenge":"live","signature":"ann","ids":["` + id1 + `"]}`
	for _, kind := range []string{"application/json", "text/plain", ""} {
		r := newRelay("")
		res, answer := r.ask(t, "POST", removePath, body, "Content-Type", kind)
		check(t, res, answer, 200, `{"removed":1}`)
		want := auth.Proof{DID: ann, Challenge: "live", Signature: "ann"}
		if len(r.gate.spent) != 1 || r.gate.spent[0] != want {
			t.Errorf("spent %+v", r.gate.spent)
		}
	}
}

func TestAStoreThatCannotSpendIsUnavailable(t *testing.T) {
	r := newRelay("")
	r.gate.err = fmt.Errorf("spending: %w", storage.ErrClosed)
	res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", ""))
	check(t, res, body, 503, `{"error":"storage is closed"}`)
}

func TestRemove(t *testing.T) {
	r := newRelay("")
	res, body := r.ask(t, "POST", removePath, claim(ann, "live", "ann", fmt.Sprintf(`,"ids":[%q,"no id",%q]`, id2, id1)))
	check(t, res, body, 200, `{"removed":2}`)
	if want := []string{ann + ": " + id2 + " " + id1}; !slices.Equal(r.mail.removals, want) {
		t.Errorf("removals = %q, want %q", r.mail.removals, want)
	}
	res, body = r.ask(t, "POST", removePath, claim(ann, "live", "ann", `,"ids":[]`))
	check(t, res, body, 200, `{"removed":0}`)
}

func TestRemoveWithoutAnArrayOfIDsSpendsTheChallenge(t *testing.T) {
	for _, challenge := range []string{"live", "dead"} {
		for _, more := range []string{``, `,"ids":null`, `,"ids":"` + id1 + `"`, `,"ids":{}`, `,"ids":[1]`, `,"ids":["` + id1 + `",null]`} {
			r := newRelay("")
			res, body := r.ask(t, "POST", removePath, claim(ann, challenge, "ann", more))
			check(t, res, body, 400, `{"error":"ids must be an array of strings"}`)
			if len(r.gate.spent) != 1 || len(r.mail.removals) != 0 {
				t.Errorf("%s: spent %v, removed %v", more, r.gate.spent, r.mail.removals)
			}
		}
	}
}

func TestFetch(t *testing.T) {
	r := newRelay("")
	res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", ""))
	check(t, res, body, 200, `{"messages":[]}`)
	if got := res.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}
	r.mail.waiting = []storage.Message{message(id1, "a\"\\\n\x01é"), message(id2, "")}
	res, body = r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", ""))
	check(t, res, body, 200, `{"messages":[`+
		`{"id":"`+id1+`","message":"a\"\\\n\u0001é","received":"2026-01-02T03:04:05.678Z"},`+
		`{"id":"`+id2+`","message":"","received":"2026-01-02T03:04:05.678Z"}]}`)
	res, body = r.ask(t, "POST", fetchPath, claim("did:cid:bob", "live", "ann", ""))
	check(t, res, body, 200, `{"messages":[]}`)
}

// pieces writes a body in pieces and then fails.
type pieces struct {
	text [][]byte
	err  error
}

func (p pieces) WriteTo(w io.Writer) (written int64, err error) {
	for _, text := range p.text {
		n, err := w.Write(text)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, p.err
}

func TestFetchPassesOverAMessageThatIsGone(t *testing.T) {
	const listed = `{"id":"` + id2 + `","message":"b","received":"2026-01-02T03:04:05.678Z"}`
	gone := message(id1, "")
	gone.Body = pieces{err: fmt.Errorf("reading: %w", storage.ErrGone)}
	for _, tt := range []struct {
		name    string
		waiting []storage.Message
		want    string
	}{
		{"alone", []storage.Message{gone}, `{"messages":[]}`},
		{"before another", []storage.Message{gone, message(id2, "b")}, `{"messages":[` + listed + `]}`},
		{"after another", []storage.Message{message(id2, "b"), gone}, `{"messages":[` + listed + `]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRelay("")
			r.mail.waiting = tt.waiting
			res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", ""))
			check(t, res, body, 200, tt.want)
		})
	}
}

func TestFetchThatFailsOnItsWayNeverEndsWell(t *testing.T) {
	big := strings.Repeat("x", 40<<10) // more than the listing's buffer
	half := message(id2, "")
	for name, tt := range map[string]struct {
		body io.WriterTo
		err  error
	}{
		"the list fails":              {pieces{text: [][]byte{{'b'}}}, errors.New("disk trouble")},
		"a body fails":                {pieces{text: [][]byte{{'b'}}, err: errors.New("disk trouble")}, nil},
		"a body goes while it's read": {pieces{text: [][]byte{{'b'}}, err: storage.ErrGone}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay("")
			half.Body = tt.body
			r.mail.waiting, r.mail.err = []storage.Message{message(id1, big), half}, tt.err
			server := httptest.NewServer(r)
			defer server.Close()
			res, err := http.Post(server.URL+fetchPath, "application/json", strings.NewReader(claim(ann, "live", "ann", "")))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("answer = %d, and %d bytes that end well", res.StatusCode, len(body))
			}
		})
	}
}

func TestFetchThatFailsBeforeItsFirstByteHasAnAnswer(t *testing.T) {
	r := newRelay("")
	half := message(id1, "")
	half.Body = pieces{text: [][]byte{{'b'}}, err: storage.ErrGone}
	r.mail.waiting = []storage.Message{half}
	res, body := r.ask(t, "POST", fetchPath, claim(ann, "live", "ann", ""))
	check(t, res, body, 503, `{"error":"the mailbox changed while it was read"}`)
}

func TestFetchHoldsLittleOfAMailbox(t *testing.T) {
	r := newRelay("")
	body := pieces{text: slices.Repeat([][]byte{bytes.Repeat([]byte{'"'}, 64<<10)}, 16)}
	r.mail.waiting = slices.Repeat([]storage.Message{{ID: id1, Body: body}}, 4)
	req := httptest.NewRequest("POST", fetchPath, strings.NewReader(claim(ann, "live", "ann", "")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.ServeHTTP(&bottomless{}, req)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 128<<10 {
		t.Errorf("a fetch of 4 MiB allocates %d bytes", allocated)
	}
}

// bottomless takes an answer of any size and keeps none of it.
type bottomless struct{ header http.Header }

func (b *bottomless) Header() http.Header {
	if b.header == nil {
		b.header = http.Header{}
	}
	return b.header
}
func (*bottomless) WriteHeader(int)             {}
func (*bottomless) Write(p []byte) (int, error) { return len(p), nil }

func FuzzAuthBody(f *testing.F) {
	for _, body := range []string{
		claim(ann, "live", "ann", ""), claim(ann, "live", "ann", `,"ids":["`+id1+`"]`), claim(ann, "live", "ann", `,"ids":[[]]`),
		`{"did":1}`, `{"DID":"did:cid:ann"}`, `{`, `[]`, `{"did":"\ud800","challenge":"","signature":""}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := newRelay("")
		res, answer := r.ask(t, "POST", removePath, body)
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
		// What the decoder of the standard library, which is less strict with names,
		// finds no claim is none.
		var claimed map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(body, "\uFEFF")), &claimed) != nil && len(r.gate.spent) != 0 {
			t.Fatal("a body that is no JSON spent a challenge")
		}
	})
}
