package mailbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/mailbox"
)

const limit = 1000 // recipients

// sealed is all of an envelope but what names its recipients.
const sealed = `"protected":"eyJhIjoxfQ","iv":"AA","ciphertext":"AAAA","tag":"AA"`

// general is an envelope in the general form, for these key ids.
func general(kids ...string) string {
	entries := make([]string, len(kids))
	for i, kid := range kids {
		entries[i] = fmt.Sprintf(`{"header":{"kid":%q},"encrypted_key":"AA"}`, kid)
	}
	return `{` + sealed + `,"recipients":[` + strings.Join(entries, ",") + `]}`
}

// addressed is an envelope with this list of recipients.
func addressed(list string) string { return `{` + sealed + `,"recipients":` + list + `}` }

// manyKids are n key ids of as many DIDs.
func manyKids(n int) []string {
	kids := make([]string, n)
	for i := range kids {
		kids[i] = fmt.Sprintf("did:cid:r%d#k", i)
	}
	return kids
}

func TestRecipients(t *testing.T) {
	ann := []did.ID{"did:cid:ann"}
	for _, tt := range []struct {
		name, packed string
		want         []did.ID
	}{
		{"one recipient", general("did:cid:ann#k1"), ann},
		{"in the order they are named", general("did:cid:bob#k1", "did:cid:ann#k1"), []did.ID{"did:cid:bob", "did:cid:ann"}},
		{"two keys of one DID are one mailbox", general("did:cid:ann#k1", "did:cid:bob#k1", "did:cid:ann#k2"), []did.ID{"did:cid:ann", "did:cid:bob"}},
		{"a key id without a fragment is the DID", general("did:cid:ann"), ann},
		{"only the first # parts a key id", general("did:cid:ann#k#1"), ann},
		{"percent-encoding is kept", general("did:web:host%3A8443:a%2fb#k"), []did.ID{"did:web:host%3A8443:a%2fb"}},
		{"the flattened form", `{` + sealed + `,"header":{"kid":"did:cid:ann#k1"},"encrypted_key":"AA"}`, ann},
		{"recipients before all else", `{"recipients":[{"header":{"kid":"did:cid:ann#k1"}}],` + sealed + `}`, ann},
		{"white space", "\n " + strings.ReplaceAll(general("did:cid:ann#k1"), ",", " ,\r\n\t") + " \n", ann},
		{"escaped names and values", `{"\u0070rotected":"\u0065yJhIjoxfQ","ciphertext":"\u0041","recipient\u0073":[{"he\u0061der":{"k\u0069d":"did:cid:\u0061nn\u0023k1"}}]}`, ann},
		{"other duplicates", `{"a":1,"a":2,"iv":"B",` + sealed + `,"recipients":[{"a":1,"a":2,"header":{"a":1,"a":2,"kid":"did:cid:ann#k1"}}]}`, ann},
		{"names that route, where they do not", `{"x":{"kid":1,"kid":2,"recipients":3},` + sealed + `,"recipients":[{"header":{"kid":"did:cid:ann#k1","x":{"kid":1,"kid":1}}}]}`, ann},
		{"lone surrogates", `{"\ud800":"\udfff",` + sealed + `,"recipients":[{"header":{"kid":"did:cid:ann#\ud800"}}]}`, ann},
		{"letter case counts", `{"Recipients":1,"CIPHERTEXT":1,` + sealed + `,"recipients":[{"header":{"kid":"did:cid:ann#k1","KID":1}}]}`, ann},
		{"as many as there may be", general(manyKids(limit)...), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mailbox.Recipients([]byte(tt.packed), limit)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != nil && !slices.Equal(got, tt.want) {
				t.Errorf("Recipients = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWhatIsNoEnvelope(t *testing.T) {
	for _, tt := range []struct {
		name, packed string
		why          string // a part of the sentence
	}{
		{"nothing", ``, "expected a JSON object"},
		{"text", `hello`, "expected a JSON object"},
		{"array", `[]`, "expected a JSON object"},
		{"string", `"{}"`, "expected a JSON object"},
		{"compact JWE", "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn\n", "compact"},
		{"compact JWS", "eyJhbGciOiJkaXIifQ.aXY.Y2lwaGVy", "expected a JSON object"},
		{"cut short", strings.TrimSuffix(general("did:cid:ann#k1"), "}"), "not valid JSON"},
		{"cut short in recipients", strings.TrimSuffix(general("did:cid:ann#k1"), "]}"), "recipient"},
		{"two of them", general("did:cid:ann#k1") + general("did:cid:ann#k1"), "not valid JSON"},
		{"comma at the end", `{` + sealed + `,}`, "not valid JSON"},
		{"too deep", `{"a":` + strings.Repeat("[", 1_000_000), "not valid JSON"},
		{"empty", `{}`, "no ciphertext"},
		{"a plain message", `{"id":"1","type":"t","body":{}}`, "no ciphertext"},
		{"a signed message", `{"payload":"AA","signatures":[{"protected":"e30","signature":"AA"}]}`, "no ciphertext"},
		{"ciphertext is empty", `{"protected":"e30","ciphertext":"","recipients":[]}`, "ciphertext is empty"},
		{"ciphertext is a number", `{"protected":"e30","ciphertext":1,"recipients":[]}`, "ciphertext is not a string"},
		{"no protected header", `{"ciphertext":"AA","recipients":[{"header":{"kid":"did:cid:ann#k1"}}]}`, "no protected"},
		{"protected is an object", `{"protected":{},"ciphertext":"AA"}`, "protected is not a string"},
		{"protected is empty", `{"protected":"","ciphertext":"AA"}`, "base64url"},
		{"protected is padded", `{"protected":"e30=","ciphertext":"AA"}`, "base64url"},
		{"protected has a line's end", `{"protected":"e3\n0","ciphertext":"AA"}`, "base64url"},
		{"protected in the other base64", `{"protected":"eyJhIjoiPz8/In0","ciphertext":"AA"}`, "base64url"},
		{"protected with stray bits", `{"protected":"e31","ciphertext":"AA"}`, "base64url"},
		{"protected is no object", `{"protected":"W10","ciphertext":"AA"}`, "base64url"},
		{"protected is cut short", `{"protected":"eyJhIjox","ciphertext":"AA"}`, "base64url"},
		{"protected is not UTF-8", `{"protected":"eyJhIjoi_yJ9","ciphertext":"AA"}`, "base64url"},
		{"no recipients", `{` + sealed + `}`, "no recipients"},
		{"empty recipients", addressed(`[]`), "no recipients"},
		{"recipients is an object", addressed(`{}`), "not an array"},
		{"a recipient is a string", addressed(`["did:cid:ann#k1"]`), "not an object"},
		{"a recipient without a header", addressed(`[{"encrypted_key":"AA"}]`), "no header"},
		{"a header is a string", addressed(`[{"header":"did:cid:ann#k1"}]`), "not an object"},
		{"a header without a kid", addressed(`[{"header":{}}]`), "no kid"},
		{"one of two without a kid", addressed(`[{"header":{"kid":"did:cid:ann#k1"}},{"header":{}}]`), "no kid"},
		{"a kid is a number", addressed(`[{"header":{"kid":1}}]`), "not a string"},
		{"a kid is null", addressed(`[{"header":{"kid":null}}]`), "not a string"},
		{"an empty kid", general(""), "bare DID"},
		{"a relative kid", general("#key-1"), "bare DID"},
		{"a kid with a path", general("did:cid:ann/a#k1"), "bare DID"},
		{"a kid with a query", general("did:cid:ann?a#k1"), "bare DID"},
		{"a kid that is no DID", general("ann#k1"), "bare DID"},
		{"a kid that is too long", general("did:cid:" + strings.Repeat("a", 9000) + "#k1"), "bare DID"},
		{"a lone surrogate in a DID", addressed(`[{"header":{"kid":"did:cid:\ud800#k1"}}]`), "bare DID"},
		{"both forms", `{` + sealed + `,"header":{"kid":"did:cid:ann#k1"},"recipients":[{"header":{"kid":"did:cid:ann#k1"}}]}`, "both"},
		{"more than there may be", general(manyKids(limit + 1)...), "more than 1000"},
		{"more than there may be, of one DID", general(slices.Repeat([]string{"did:cid:ann#k1"}, limit+1)...), "more than 1000"},
		{"recipients twice", `{` + sealed + `,"recipients":[{"header":{"kid":"did:cid:ann#k1"}}],"recipients":[{"header":{"kid":"did:cid:bob#k1"}}]}`, "twice"},
		{"recipients twice, once escaped", `{` + sealed + `,"recipients":[{"header":{"kid":"did:cid:ann#k1"}}],"r\u0065cipients":[]}`, "twice"},
		{"ciphertext twice", `{"ciphertext":"AA",` + sealed + `}`, "twice"},
		{"protected twice", `{"protected":"e30",` + sealed + `}`, "twice"},
		{"header twice", `{` + sealed + `,"header":{"kid":"did:cid:ann#k1"},"header":{"kid":"did:cid:ann#k1"}}`, "twice"},
		{"header twice in a recipient", addressed(`[{"header":{"kid":"did:cid:ann#k1"},"header":{"kid":"did:cid:bob#k1"}}]`), "twice"},
		{"kid twice", addressed(`[{"header":{"kid":"did:cid:ann#k1","kid":"did:cid:ann#k1"}}]`), "twice"},
		{"kid twice, once escaped", addressed(`[{"header":{"kid":"did:cid:ann#k1","\u006bid":"did:cid:bob#k1"}}]`), "twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mailbox.Recipients([]byte(tt.packed), limit)
			if !errors.Is(err, mailbox.ErrNotEnvelope) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("Recipients = %v, %v; want ErrNotEnvelope about %q", got, err, tt.why)
			}
			if err != nil && (strings.Contains(err.Error(), "ann") || strings.Contains(err.Error(), "bob")) {
				t.Errorf("the sentence names a DID: %v", err)
			}
		})
	}
}

func FuzzRecipients(f *testing.F) {
	for _, packed := range []string{
		general("did:cid:ann#k1", "did:web:host%3A8443#k"),
		`{` + sealed + `,"header":{"kid":"did:cid:ann#k1"}}`,
		addressed(`[{"header":{"kid":"did:cid:ann#k1","\u006bid":"did:cid:bob#k1"}}]`),
		"eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn",
		`{"recipients":`, `{}`, `[[[[`, `{"protected":"e3\n0"}`,
	} {
		f.Add([]byte(packed))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		const limit = 3
		before := string(packed)
		to, err := mailbox.Recipients(packed, limit)
		if string(packed) != before {
			t.Fatal("the envelope was changed")
		}
		if err != nil {
			if !errors.Is(err, mailbox.ErrNotEnvelope) || to != nil {
				t.Fatalf("Recipients = %v, %v", to, err)
			}
			return
		}
		if len(to) == 0 || len(to) > limit {
			t.Fatalf("%d recipients", len(to))
		}
		for i, id := range to {
			if bare, err := did.Parse(string(id)); err != nil || bare != id || slices.Contains(to[:i], id) {
				t.Fatalf("recipients = %q", to)
			}
		}
	})
}

// envelope is one of about size bytes for one recipient.
func envelope(size int) []byte {
	packed := general("did:cid:bagaaierasomething#key-1")
	filler := strings.Repeat("A", max(0, size-len(packed)))
	return []byte(strings.Replace(packed, `"AAAA"`, `"`+filler+`"`, 1))
}

func BenchmarkRecipients(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		packed := envelope(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := mailbox.Recipients(packed, limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
