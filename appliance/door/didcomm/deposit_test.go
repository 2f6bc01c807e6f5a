package didcomm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/mailbox"
)

const packedType = "application/didcomm-encrypted+json"

// spaced is an envelope with white space, odd numbers and escapes.
const spaced = "\n{ \"recipients\" : [ {\"header\":{\"kid\":\"did:cid:ann#k1\"}} ],\r\n\t\"n\": 1.50e+3, \"s\" : \"\\u0041 \\/ \\ud800\",\n \"protected\" : \"e30\", \"ciphertext\":\"A A\" , \"n\" : -0 }\n"

// compacted is what form 3 makes of spaced.
const compacted = `{"recipients":[{"header":{"kid":"did:cid:ann#k1"}}],"n":1.50e+3,"s":"\u0041 \/ \ud800","protected":"e30","ciphertext":"A A","n":-0}`

func TestDepositTakesThreeForms(t *testing.T) {
	quoted, err := json.Marshal(spaced)
	if err != nil {
		t.Fatal(err)
	}
	inMessage := `{"message":` + string(quoted) + `}`
	for _, tt := range []struct {
		name, kind, body string
		want             string // packed
	}{
		{"1: packed", packedType, spaced, spaced},
		{"1: parameters and letter case", "Application/DIDComm-Encrypted+JSON; charset=utf-8", spaced, spaced},
		{"1: text", "text/plain;charset=UTF-8", spaced, spaced},
		{"1: text of any kind", "TEXT/x-envelope", spaced, spaced},
		{"1: byte order mark", packedType, "\uFEFF" + spaced, spaced},
		{"2: message", "application/json", inMessage, spaced},
		{"2: without a type", "", inMessage, spaced},
		{"2: octet stream", "application/octet-stream", inMessage, spaced},
		{"2: beside other members", "application/json", `{"a":{},"message":` + string(quoted) + `,"ids":[1]}`, spaced},
		{"2: the last message counts", "application/json", `{"message":"{}","message":` + string(quoted) + `}`, spaced},
		{"3: object", "application/json", spaced, compacted},
		{"3: without a type", "", spaced, compacted},
		{"3: older type", "application/didcomm-envelope-enc", spaced, compacted},
		{"3: agent wire", "application/ssi-agent-wire", spaced, compacted},
		{"3: byte order mark", "application/json", "\uFEFF" + spaced, compacted},
		{"3: message is no string", "application/json", strings.Replace(envelope, "{", `{"message":1,`, 1), strings.Replace(envelope, "{", `{"message":1,`, 1)},
		{"3: message is empty", "application/json", strings.Replace(envelope, "{", `{"message":"",`, 1), strings.Replace(envelope, "{", `{"message":"",`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRelay("")
			res, body := r.ask(t, "POST", "/api/v1/messages", tt.body, "Content-Type", tt.kind)
			check(t, res, body, 200, `{"ids":["`+id1+`"]}`)
			if len(r.mail.packed) != 1 || r.mail.packed[0] != tt.want {
				t.Errorf("packed = %q, want %q", r.mail.packed, tt.want)
			}
		})
	}
}

func TestDepositAnswersOneIDPerMailbox(t *testing.T) {
	two := strings.Replace(envelope, `]`, `,{"header":{"kid":"did:cid:bob#k"}},{"header":{"kid":"did:cid:ann#k2"}}]`, 1)
	r := newRelay("")
	res, body := r.ask(t, "POST", "/api/v1/messages", two, "Content-Type", packedType)
	check(t, res, body, 200, `{"ids":["`+id1+`","`+id2+`"]}`)
}

func TestDepositRefuses(t *testing.T) {
	notEnvelope := mailbox.ErrNotEnvelope.Error()
	for _, tt := range []struct {
		name, kind, body string
		status           int
		answer           string // a part of the sentence
	}{
		{"nothing", "", "", 400, notEnvelope},
		{"text that is no envelope", "text/plain", "hello", 400, "expected a JSON object"},
		{"message in the packed form", packedType, `{"message":"{}"}`, 400, "no ciphertext"},
		{"no JSON", "application/json", `{"a":`, 400, "not valid JSON"},
		{"array", "application/json", `[]`, 400, "expected a JSON object"},
		{"message is no envelope", "application/json", `{"message":"hello"}`, 400, "expected a JSON object"},
		{"compact JWE", packedType, "e30..AA.AA.AA", 400, "compact"},
		{"compact JWE without a type", "", "e30..AA.AA.AA", 400, "compact"},
		{"compact JWE as message", "application/json", `{"message":"e30..AA.AA.AA"}`, 400, "compact"},
		{"message is not Unicode", "application/json", `{"message":"\ud800"}`, 400, "Unicode"},
		{"not UTF-8", packedType, strings.Replace(envelope, "AA", "\xff", 1), 400, "UTF-8"},
		{"too many recipients", packedType, strings.Replace(envelope, `]`, strings.Repeat(`,{"header":{"kid":"did:cid:ann"}}`, 3)+`]`, 1), 400, "more than 3"},
		{"a body over the limit", packedType, strings.Repeat("a", uploadLimit+1), 413, "limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRelay("")
			res, body := r.ask(t, "POST", "/api/v1/messages", tt.body, "Content-Type", tt.kind)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.answer) || !strings.HasPrefix(body, `{"error":"`) {
				t.Errorf("answer = %d %s, want %d about %q", res.StatusCode, body, tt.status, tt.answer)
			}
			if len(r.mail.packed) != 0 {
				t.Errorf("kept %q", r.mail.packed)
			}
		})
	}
}

func TestDepositOfExactlyTheLimit(t *testing.T) {
	packed := envelope + strings.Repeat(" ", uploadLimit-len(envelope))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(packed)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for coding, body := range map[string]string{"identity": packed, "gzip": zipped.String()} {
		r := newRelay("")
		res, answer := r.ask(t, "POST", "/api/v1/messages", body, "Content-Type", packedType, "Content-Encoding", coding)
		check(t, res, answer, 200, `{"ids":["`+id1+`"]}`)
		if len(r.mail.packed) != 1 || r.mail.packed[0] != packed {
			t.Errorf("%s: the envelope was changed", coding)
		}
	}
}

func FuzzDepositForms(f *testing.F) {
	for _, kind := range []string{packedType, "application/json", "", "text/plain"} {
		for _, body := range []string{envelope, spaced, `{"message":"{}"}`, `{"message":"\ud800"}`, "e30..AA.AA.AA", `{"a":`, "\uFEFF{}"} {
			f.Add(kind, body)
		}
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		r := newRelay("")
		res, answer := r.ask(t, "POST", "/api/v1/messages", body, "Content-Type", kind)
		if !json.Valid([]byte(answer)) {
			t.Fatalf("answer = %s", answer)
		}
		switch res.StatusCode {
		case 400, 413:
			if len(r.mail.packed) != 0 {
				t.Fatal("a refused envelope was kept")
			}
		case 200:
			packed := r.mail.packed[0]
			if _, err := mailbox.Recipients([]byte(packed), 3); err != nil {
				t.Fatalf("kept %q: %v", packed, err)
			}
		default:
			t.Fatalf("status = %d", res.StatusCode)
		}
	})
}

func BenchmarkDeposit(b *testing.B) {
	packed := strings.Replace(envelope, "AA", strings.Repeat("A", 1024-len(envelope)+2), 1)
	for _, kind := range []string{packedType, "application/json"} {
		b.Run(fmt.Sprintf("1KiB %s", kind), func(b *testing.B) {
			r := newRelay("")
			b.SetBytes(int64(len(packed)))
			b.ReportAllocs()
			for b.Loop() {
				r.mail.packed = r.mail.packed[:0]
				if res, body := r.ask(b, "POST", "/api/v1/messages", packed, "Content-Type", kind); res.StatusCode != 200 {
					b.Fatal(body)
				}
			}
		})
	}
}
