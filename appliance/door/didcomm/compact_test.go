package didcomm

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func FuzzCompact(f *testing.F) {
	for _, seed := range []string{`{}`, " { \"a b\" : [ 1.0e+5 , \"\\\\\" , \"\\\" \\\" \" ] ,\r\n\t\"c\":null } ", `{"\\":" "}`, "{}\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return // it is asked for valid JSON alone
		}
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := compact([]byte(text)); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("compact(%q) = %q, want %q", text, got, want.Bytes())
		}
	})
}

func FuzzUnquoteInPlace(f *testing.F) {
	for _, seed := range []string{`""`, `"plain"`, `"\n\"\\\/ü\u00fc\u20ac\ud83d\ude00"`, `"\u0041` + `€€€\t"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, wantErr := jsontext.AppendUnquote(nil, text)
		if wantErr != nil {
			return
		}
		body := []byte(text)
		got, err := jsontext.AppendUnquote(body[:0], body)
		if !bytes.Equal(got, want) || err != nil {
			t.Errorf("in place %q is %q, %v; want %q", text, got, err, want)
		}
		if len(got) > 0 && &got[0] != &body[0] {
			t.Errorf("%q was copied", text)
		}
	})
}
