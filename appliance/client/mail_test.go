package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// read reads an answer to a fetch with all its messages.
func read(r io.Reader) ([]Message, error) {
	var all messages
	err := readMail(r, &all)
	return all.kept, err
}

func TestMailInAnyForm(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for _, tt := range []struct {
		name, answer string
		want         []Message
	}{
		{"none", `{"messages":[]}`, nil},
		{"one", `{"messages":[{"id":"a","message":"{\"x\":1}","received":"2026-01-02T03:04:05.678Z"}]}`, []Message{{"a", `{"x":1}`, at}}},
		{"another order", `{"messages":[{"received":"2026-01-02T03:04:05.678Z","message":"m","id":"a"}]}`, []Message{{"a", "m", at}}},
		{"white space", " {\n\"messages\" :\t[ { \"id\" : \"a\" , \"message\" : \"m\" } , {\"id\":\"b\",\"message\":\"\"} ]\r\n} \n",
			[]Message{{ID: "a", Envelope: "m"}, {ID: "b"}}},
		{"members of later versions", `{"more":true,"messages":[{"id":"a","tags":["]",{"}":"\\\""}],"n":-1.5e3,"message":"m","x":null}],"challenge":"c","y":{}}`,
			[]Message{{ID: "a", Envelope: "m"}}},
		{"every escape", `{"messages":[{"id":"\u0061","message":"\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00\ufffd\u0000é"}]}`,
			[]Message{{ID: "a", Envelope: "\"\\/\b\f\n\r\tä😀\uFFFD\x00é"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.answer), iotest.OneByteReader(strings.NewReader(tt.answer)), iotest.DataErrReader(strings.NewReader(tt.answer))} {
				got, err := read(r)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("%v, -want +got:\n%s", err, diff)
				}
			}
		})
	}
}

func TestMailThatIsNone(t *testing.T) {
	for _, answer := range []string{
		`null`, `[]`, `{}`, `"messages"`, `{"messages":null}`, `{"messages":{}}`, `{"messages":[null]}`, `{"messages":[],}`,
		`{"messages":[]}x`, `{"messages":[],"messages":[]}`, `{"messages":[{}]}`, `{"messages":[{"id":"a"}]}`, `{"messages":[{"message":"m"}]}`,
		`{"messages":[{"id":"","message":"m"}]}`, `{"messages":[{"id":1,"message":"m"}]}`, `{"messages":[{"id":"a","message":{}}]}`,
		`{"messages":[{"id":"a","message":null}]}`, `{"messages":[{"id":"a","id":"b","message":"m"}]}`,
		`{"messages":[{"id":"a","message":"m","received":"soon"}]}`, `{"messages":[{"id":"a","message":"m"},]}`, `{"messages":[,]}`,
		`{"messages" []}`, `{messages:[]}`, `{"x":tru,"messages":[]}`, `{"x":[}],"messages":[]}`, `{"x":,"messages":[]}`, `{null:1,"messages":[]}`,
		`{"messages":[{"id":"a","message":"\x"}]}`, `{"messages":[{"id":"a","message":"\u12g4"}]}`, `{"messages":[{"id":"a","message":"\ud800"}]}`,
		`{"messages":[{"id":"a","message":"\ud800\u0041"}]}`, `{"messages":[{"id":"a","message":"\udc00\ud800"}]}`,
		"{\"messages\":[{\"id\":\"a\",\"message\":\"\n\"}]}", "{\"messages\":[{\"id\":\"a\",\"message\":\"\xff\"}]}",
		`{"x":"` + strings.Repeat("x", maxValue) + `","messages":[]}`,
	} {
		if got, err := read(strings.NewReader(answer)); err == nil || Temporary(err) {
			t.Errorf("%.80s is %v, %v; want an error that stays", answer, got, err)
		}
	}
}

// Wherever an answer is cut, what came whole before is kept and nothing else.
func TestMailThatBreaksOff(t *testing.T) {
	const first = `{"messages":[{"id":"a","message":"first"}`
	const second = first + `,{"message":"second \u00e4 \ud83d\ude00","id":"b"}`
	const answer = second + `],"more":false}`
	want := func(n int) int {
		switch {
		case n >= len(second):
			return 2
		case n >= len(first):
			return 1
		default:
			return 0
		}
	}
	for n := range len(answer) {
		got, err := read(strings.NewReader(answer[:n]))
		if len(got) != want(n) || !Temporary(err) {
			t.Errorf("cut after %s: %d messages and %v, want %d and an outage", answer[:n], len(got), err, want(n))
		}
	}
}

// full is a shelf without room.
type full struct{ err error }

func (f full) Begin() (io.Writer, error) { return f, nil }
func (f full) Write([]byte) (int, error) { return 0, f.err }
func (f full) Keep(Label) error          { return nil }

func TestShelfThatFailsEndsTheReading(t *testing.T) {
	noRoom := errors.New("no room")
	err := readMail(strings.NewReader(`{"messages":[{"id":"a","message":"m"}]}`), full{noRoom})
	if !errors.Is(err, noRoom) || Temporary(err) {
		t.Errorf("error = %v, want the shelf's", err)
	}
}

// counter is a shelf that only counts.
type counter struct {
	bytes int64
	kept  int
}

func (c *counter) Begin() (io.Writer, error) { return c, nil }
func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}
func (c *counter) Keep(Label) error { c.kept++; return nil }

func TestLargeMailTakesLittleMemory(t *testing.T) {
	const size, number, allowed = 5 << 20, 3, 256 << 10
	envelope := strings.Repeat(`\"`, size)
	parts := []io.Reader{strings.NewReader(`{"messages":[`)}
	for i := range number {
		if i > 0 {
			parts = append(parts, strings.NewReader(","))
		}
		parts = append(parts, strings.NewReader(`{"id":"a","message":"`), strings.NewReader(envelope), strings.NewReader(`"}`))
	}
	parts = append(parts, strings.NewReader("]}"))
	var before, after runtime.MemStats
	var c counter
	runtime.ReadMemStats(&before)
	err := readMail(io.MultiReader(parts...), &c)
	runtime.ReadMemStats(&after)
	if err != nil || c.kept != number || c.bytes != number*size {
		t.Fatalf("%d messages of %d bytes together, %v", c.kept, c.bytes, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > allowed {
		t.Errorf("took %d KiB in all, want at most %d", took>>10, allowed>>10)
	}
}

// What is taken is JSON, and means what another decoder says it means.
func FuzzMail(f *testing.F) {
	for _, answer := range []string{
		`{"messages":[]}`,
		`{"more":[1,{"a":null}],"messages":[{"id":"a","message":"\"\\\u00e4\ud83d\ude00é","received":"2026-01-02T03:04:05.678Z","x":-1}]}`,
		` { "messages" : [ {"id":"a","message":""} , {"message":"m","id":"b"} ] } `,
		`{"messages":[{"id":"a","message":"m"}`,
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := read(bytes.NewReader(answer))
		slow, other := read(iotest.OneByteReader(bytes.NewReader(answer)))
		if diff := cmp.Diff(got, slow); diff != "" || (err == nil) != (other == nil) {
			t.Fatalf("byte by byte it is another: %v, %v\n%s", err, other, diff)
		}
		if err != nil {
			return
		}
		var top map[string]json.RawMessage
		var list []map[string]json.RawMessage
		if err := json.Unmarshal(answer, &top); err != nil {
			t.Fatalf("took what is no JSON: %v", err)
		}
		if err := json.Unmarshal(top["messages"], &list); err != nil || len(list) != len(got) {
			t.Fatalf("took %d messages of %d: %v", len(got), len(list), err)
		}
		for i, m := range list {
			var id, envelope string
			if json.Unmarshal(m["id"], &id) != nil || json.Unmarshal(m["message"], &envelope) != nil || id != got[i].ID || envelope != got[i].Envelope {
				t.Fatalf("message %d is %q, want %q as %q", i, got[i], envelope, id)
			}
		}
	})
}

// Every text comes back as it was written.
func FuzzText(f *testing.F) {
	f.Add("{\"protected\":\"e30\"}\r\n\t\x00\u2028 <ä😀\uFFFD>")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // no envelope
		}
		answer, err := json.Marshal(map[string]any{"messages": []Message{{ID: "a", Envelope: text}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(bytes.NewReader(answer))
		if err != nil || len(got) != 1 || got[0].Envelope != text {
			t.Fatalf("%q came back as %q, %v", text, got, err)
		}
	})
}
