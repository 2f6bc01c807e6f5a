package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const packedType = "application/didcomm-encrypted+json"

// envelopeFor is a small envelope in which KID stands for the recipient's key
// id; its protected header is {"enc":"A256GCM"}.
const envelopeFor = `{"protected":"eyJlbmMiOiJBMjU2R0NNIn0","recipients":[{"header":{"kid":"KID"}}],"ciphertext":"AAAA"}`

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func TestDepositForms(t *testing.T) {
	r := startRelay(t)
	quoted := strings.ReplaceAll(envelopeFor, `"`, `\"`)
	loose := `
	{ "ciphertext" : "AAAA", "n":[1.0, 1e400 ,-0, 12345678901234567890],"typ":1,"typ":{ "a" : "\u00e9 é" } ,
	  "recipients":[ { "header" : { "kid" : "KID" } } ], "protected":"eyJlbmMiOiJBMjU2R0NNIn0" }
`
	for _, tt := range []struct {
		name, contentType, body string
		want                    string // what the recipient gets back; "" is the body as it is
	}{
		{"raw", packedType, envelopeFor, ""},
		{"raw, white space and all", packedType, loose, ""},
		{"raw, parameters and case do not matter", "Application/DIDComm-Encrypted+JSON ; charset=UTF-8", loose, ""},
		{"raw, as text", "text/plain", loose, ""},
		{"raw, as any text", "text/vnd.example; charset=utf-8", loose, ""},
		{"raw, a lone surrogate", packedType, strings.Replace(envelopeFor, `{`, `{"x":"\ud800",`, 1), ""},
		{"raw, a byte order mark is dropped", packedType, "\ufeff" + loose, loose},
		{"raw, a key of the envelope named message", packedType, strings.Replace(envelopeFor, `{`, `{"message":"x",`, 1), ""},
		{"message", "application/json", `{"message":"` + quoted + `"}`, envelopeFor},
		{"message, among others", "application/json", `{"a":[1],"message":"` + quoted + `","b":{}}`, envelopeFor},
		{"message, spelled with escapes", "application/json", `{"m\u0065ssage":"\u007b` + quoted[1:] + `"}`, envelopeFor},
		{"message, white space and all", "application/json", `{"message":"\n ` + quoted + `\t"}`, "\n " + envelopeFor + "\t"},
		{"message, a byte order mark is dropped", "application/json", "\ufeff" + `{"message":"` + quoted + `"}`, envelopeFor},
		{"message, unheard-of type", "application/ssi-agent-wire", `{"message":"` + quoted + `"}`, envelopeFor},
		{"object", "application/json", envelopeFor, ""},
		{"object, order and numbers kept", "application/json; charset=utf-8", loose,
			`{"ciphertext":"AAAA","n":[1.0,1e400,-0,12345678901234567890],"typ":1,"typ":{"a":"\u00e9 é"},` +
				`"recipients":[{"header":{"kid":"KID"}}],"protected":"eyJlbmMiOiJBMjU2R0NNIn0"}`},
		{"object, message is empty", "application/json", strings.Replace(envelopeFor, `{`, `{"message":"",`, 1), ""},
		{"object, message is no string", "application/json", strings.Replace(envelopeFor, `{`, `{"message":{},`, 1), ""},
		{"object, no type", "", envelopeFor, ""},
		{"object, octet stream", "application/octet-stream", envelopeFor, ""},
		{"object, older type", "application/didcomm-envelope-enc", envelopeFor, ""},
		{"object, type that is none", ";;;", envelopeFor, ""},
		{"flattened", packedType,
			`{"protected":"eyJlbmMiOiJBMjU2R0NNIn0","header":{"kid":"KID"},"encrypted_key":"AA","ciphertext":"AAAA"}`, ""},
		{"two keys of one DID", packedType,
			strings.Replace(envelopeFor, `{"header":{"kid":"KID"}}`, `{"header":{"kid":"KID"}},{"header":{"kid":"KID-2"}}`, 1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWallet(t)
			body := strings.ReplaceAll(tt.body, "KID", w.KeyID())
			want := strings.ReplaceAll(tt.want, "KID", w.KeyID())
			if want == "" {
				want = body
			}
			var filed struct{ IDs []string }
			decode(t, r.post(t, "/api/v1/messages", tt.contentType, body), &filed)
			if len(filed.IDs) != 1 || !uuid.MatchString(filed.IDs[0]) {
				t.Fatalf("filed under %q, want one UUID", filed.IDs)
			}
			wantMail(t, r, w, want)
		})
	}
}

func TestWhatIsNoDIDCommEnvelopeIsRefused(t *testing.T) {
	r := startRelay(t)
	w := newWallet(t)
	to := func(kid string) string { return strings.Replace(envelopeFor, "KID", kid, 1) }
	with := func(old, new string) string { return strings.Replace(envelopeFor, old, new, 1) }
	const ciphertext, protected = `"ciphertext":"AAAA"`, `"protected":"eyJlbmMiOiJBMjU2R0NNIn0"`
	const recipients, kid = `"recipients":[{"header":{"kid":"KID"}}]`, `"kid":"KID"`
	for name, body := range map[string]string{
		"empty":                         ``,
		"white space":                   "  \n",
		"null":                          `null`,
		"array":                         `[` + envelopeFor + `]`,
		"string":                        `"x"`,
		"no JSON":                       `hello`,
		"cut short":                     envelopeFor[:len(envelopeFor)-1],
		"trailing bytes":                envelopeFor + `{}`,
		"empty object":                  `{}`,
		"plaintext message":             `{"id":"1","type":"https://didcomm.org/basicmessage/2.0/message","to":["KID"],"body":{}}`,
		"signed message":                `{"payload":"e30","signatures":[{"protected":"e30","signature":"AA","header":{"kid":"KID"}}]}`,
		"compact JWE":                   `eyJlbmMiOiJBMjU2R0NNIn0.AAAA.AAAA.AAAA.AAAA`,
		"not UTF-8":                     with("AAAA", "AA\xffA"),
		"no recipients":                 with(recipients, `"x":1`),
		"empty recipients":              with(recipients, `"recipients":[]`),
		"recipients is an object":       with(recipients, `"recipients":{"header":{"kid":"KID"}}`),
		"recipient is a string":         with(recipients, `"recipients":["KID"]`),
		"no header":                     with(recipients, `"recipients":[{"kid":"KID"}]`),
		"no kid":                        with(kid, `"x":1`),
		"kid is a number":               with(kid, `"kid":1`),
		"one of two without kid":        with(recipients, `"recipients":[{"header":{"kid":"KID"}},{"header":{}}]`),
		"one of two without DID":        with(recipients, `"recipients":[{"header":{"kid":"KID"}},{"header":{"kid":"#key-1"}}]`),
		"both forms at once":            with(ciphertext, ciphertext+`,"header":{"kid":"KID"}`),
		"no protected":                  with(protected, `"x":1`),
		"protected is an object":        with(protected, `"protected":{"enc":"A256GCM"}`),
		"protected is no base64url":     with("eyJlbmMiOiJBMjU2R0NNIn0", "e30+"),
		"protected is padded":           with("eyJlbmMiOiJBMjU2R0NNIn0", "e30="),
		"protected is an array in it":   with("eyJlbmMiOiJBMjU2R0NNIn0", "W10"),
		"protected is empty":            with("eyJlbmMiOiJBMjU2R0NNIn0", ""),
		"no ciphertext":                 with(ciphertext, `"x":1`),
		"ciphertext is empty":           with(ciphertext, `"ciphertext":""`),
		"ciphertext is a number":        with(ciphertext, `"ciphertext":1`),
		"recipients twice":              with(recipients, recipients+","+recipients),
		"header twice":                  with(recipients, `"recipients":[{"header":{"kid":"KID"},"header":{"kid":"KID"}}]`),
		"kid twice":                     with(kid, kid+","+kid),
		"kid twice, once with escapes":  with(kid, kid+`,"\u006bid":"KID"`),
		"protected twice":               with(protected, protected+","+protected),
		"ciphertext twice":              with(ciphertext, ciphertext+`,"cipher\u0074ext":"AAAA"`),
		"kid is empty":                  to(""),
		"kid is relative":               to("#key-1"),
		"kid is no DID":                 to("alice#key-1"),
		"kid has no method":             to("did::x#key-1"),
		"kid has no id":                 to("did:key:#key-1"),
		"kid has a path":                to("did:key:zQ3s/path#key-1"),
		"kid has a query":               to("did:key:zQ3s?versionId=1#key-1"),
		"kid has a space":               to("did:key:zQ3s #key-1"),
		"kid has a broken escape":       to("did:web:host%3#key-1"),
		"method in upper case":          to("did:KEY:zQ3s#key-1"),
		"scheme in upper case":          to("DID:key:zQ3s#key-1"),
		"DID is longer than 8 KiB":      to("did:x:" + strings.Repeat("a", 8<<10-len("did:x:")+1)),
		"message is no envelope either": `{"message":"{}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			body = strings.ReplaceAll(body, "KID", w.KeyID())
			for _, contentType := range []string{packedType, "application/json"} {
				said := wantRefusal(t, r.post(t, "/api/v1/messages", contentType, body), 400)
				if strings.HasPrefix(name, "compact") && !strings.Contains(said, "compact") {
					t.Errorf("as %s: %q does not say that it is compact", contentType, said)
				}
				if strings.Contains(said, w.DID) {
					t.Errorf("as %s: %q repeats a DID", contentType, said)
				}
			}
		})
	}
	wantRefusal(t, r.post(t, "/api/v1/messages", packedType, `{"message":"`+strings.ReplaceAll(to(w.KeyID()), `"`, `\"`)+`"}`), 400)
	wantMail(t, r, w)
}

func TestRecipientsAreBounded(t *testing.T) {
	r := startRelay(t, "HOLDMAIL_MAX_RECIPIENTS=20")
	for recipients, status := range map[int]int{20: 200, 21: 400} {
		list := make([]string, recipients)
		for i := range list {
			list[i] = fmt.Sprintf(`{"header":{"kid":"did:x:%d#1"}}`, i)
		}
		body := strings.Replace(envelopeFor, `{"header":{"kid":"KID"}}`, strings.Join(list, ","), 1)
		if a := r.post(t, "/api/v1/messages", packedType, body); a.Status != status {
			t.Errorf("%d recipients: %d %s, want %d", recipients, a.Status, a.Body, status)
		}
	}
}

func TestUnusualDIDsHaveMailboxes(t *testing.T) {
	g := startGatekeeper(t)
	r := startRelay(t, "ARCHON_GATEKEEPER_URL="+g.URL)
	for name, did := range map[string]string{
		"percent-encoding is kept":    "did:cid:host%3A8443:a%2fb",
		"an escape is not its letter": "did:cid:%61",
		"the letter of that escape":   "did:cid:a",
		"every character":             "did:cid2:a:B_c.d-e:9",
		"exactly 8 KiB":               "did:cid:" + strings.Repeat("a", 8<<10-len("did:cid:")),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWallet(t)
			w.DID = did
			g.publish(w.DID, w.document())
			for _, kid := range []string{w.DID, w.DID + "#", w.DID + "#a#b?c/d"} {
				packed := strings.Replace(envelopeFor, "KID", kid, 1)
				if ids, err := r.deposit([]byte(packed)); err != nil || len(ids) != 1 {
					t.Fatalf("filed under %q, %v, want one id", ids, err)
				}
			}
			got, err := r.fetch(w)
			if err != nil || len(got) != 3 {
				t.Errorf("%d messages wait (%v), want 3", len(got), err)
			}
		})
	}
}
