package webhook

import (
	"net/http"
	"testing"
)

func FuzzAcknowledgement(f *testing.F) {
	f.Add([]byte(`{"ids":["a"],"answers":{"a":{"status":200,"headers":[["A","b"]],"body":{"text":"x"}}}}`))
	f.Add([]byte(`{"ids":[1],"answers":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		ids, answers, err := parseAck(body)
		if err != nil && (ids != nil && answers != nil) {
			t.Errorf("refused (%v), and yet %q, %v", err, ids, answers)
		}
		if len(ids) > maxAcks || len(answers) > maxAcks {
			t.Errorf("%d ids, %d answers", len(ids), len(answers))
		}
		for id, a := range answers {
			if err == nil && (len(id) > maxID || a.Status < 200 || a.Status > 599 || len(a.Body) > answerLimit) {
				t.Errorf("%q: %+v was let through", id, a)
			}
		}
	})
}

func FuzzHeadersThatEndHere(f *testing.F) {
	f.Add("X-A", "1", "x-a, TE")
	f.Add("Cookie", "a=b", "")
	f.Fuzz(func(t *testing.T, name, value, connection string) {
		h := http.Header{"X-Kept": {"2", "1"}}
		h.Add(name, value)
		if connection != "" {
			h.Set("Connection", connection)
		}
		for _, kept := range headersOf(h) {
			if leftOut(kept[0]) {
				t.Errorf("%q is kept", kept)
			}
			if len(h[kept[0]]) == 0 {
				t.Errorf("%q was never sent", kept)
			}
		}
	})
}
