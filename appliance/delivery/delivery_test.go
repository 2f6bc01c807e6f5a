package delivery_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/delivery"
)

func request(change func(*delivery.Request)) delivery.Request {
	r := delivery.Request{
		Method:  "POST",
		URL:     "https://relay.example/hooks/abc?a=1&b=%20",
		Headers: [][2]string{{"Content-Type", "application/json"}, {"X-Twice", "1"}, {"X-Twice", "2"}},
		Body:    []byte(`{"a":"<&>"}`),
	}
	change(&r)
	return r
}

func TestForm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*delivery.Request)
		want   string
	}{
		{"as it is", func(*delivery.Request) {},
			`{"method":"POST","url":"https://relay.example/hooks/abc?a=1&b=%20","headers":[["Content-Type","application/json"],["X-Twice","1"],["X-Twice","2"]],"body":{"text":"{\"a\":\"<&>\"}"}}`},
		{"no headers, no body", func(r *delivery.Request) { r.Headers, r.Body = nil, nil },
			`{"method":"POST","url":"https://relay.example/hooks/abc?a=1&b=%20","headers":[],"body":{"text":""}}`},
		{"bytes", func(r *delivery.Request) { r.Headers, r.Body = nil, []byte{0xff, 0} },
			`{"method":"POST","url":"https://relay.example/hooks/abc?a=1&b=%20","headers":[],"body":{"base64":"/wA="}}`},
		{"text that quoting would more than double", func(r *delivery.Request) { r.Headers, r.Body = nil, []byte{1, 2, 3} },
			`{"method":"POST","url":"https://relay.example/hooks/abc?a=1&b=%20","headers":[],"body":{"base64":"AQID"}}`},
		{"a header in Latin-1", func(r *delivery.Request) { r.Headers, r.Body = [][2]string{{"X-Name", "Ren\xe9"}}, nil },
			`{"method":"POST","url":"https://relay.example/hooks/abc?a=1&b=%20","headers":[["X-Name",{"base64":"UmVu6Q=="}]],"body":{"text":""}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := request(tt.change)
			if got := string(r.AppendJSON(nil)); got != tt.want {
				t.Errorf("AppendJSON =\n%s\nwant\n%s", got, tt.want)
			}
			got, err := delivery.Parse([]byte(tt.want))
			if err != nil || !got.Equal(r) {
				t.Errorf("Parse = %+v, %v; want %+v", got, err, r)
			}
		})
	}
}

func TestAppends(t *testing.T) {
	r := request(func(*delivery.Request) {})
	if got, want := string(r.AppendJSON([]byte("before"))), "before"+string(r.AppendJSON(nil)); got != want {
		t.Errorf("AppendJSON = %s, want %s", got, want)
	}
}

func TestTheBodyNeverMoreThanDoubles(t *testing.T) {
	empty := len(request(func(r *delivery.Request) { r.Body = nil }).AppendJSON(nil))
	for _, piece := range []string{"a", "\x00", "\"", "\\", "\n", "é", "\u2028", "\xff", "a\x01", "<"} {
		body := strings.Repeat(piece, 10000)
		got := len(request(func(r *delivery.Request) { r.Body = []byte(body) }).AppendJSON(nil))
		if most := empty + 2*len(body) + 16; got > most {
			t.Errorf("%q: %d bytes, want at most %d", piece, got, most)
		}
	}
}

func TestQueryIsRaw(t *testing.T) {
	for address, want := range map[string]string{
		"https://r/hooks/x":            "",
		"https://r/hooks/x?":           "",
		"https://r/hooks/x?a=%2f+b?&;": "a=%2f+b?&;",
	} {
		if got := (delivery.Request{URL: address}).Query(); got != want {
			t.Errorf("Query of %s = %q, want %q", address, got, want)
		}
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	for name, plaintext := range map[string]string{
		"nothing":                  ``,
		"not JSON":                 `method=POST`,
		"a list":                   `[]`,
		"half a request":           `{"method":"POST","url":"https://r/","headers":[],"body":{"text":"x`,
		"no method":                `{"url":"https://r/","headers":[],"body":{"text":""}}`,
		"a method of two words":    `{"method":"GET /x","url":"https://r/","headers":[],"body":{"text":""}}`,
		"no URL":                   `{"method":"POST","headers":[],"body":{"text":""}}`,
		"a line break in the URL":  `{"method":"POST","url":"https://r/\r\nX: y","headers":[],"body":{"text":""}}`,
		"a space in the URL":       `{"method":"POST","url":"https://r/?a b","headers":[],"body":{"text":""}}`,
		"a header without a value": `{"method":"POST","url":"https://r/","headers":[["X"]],"body":{"text":""}}`,
		"a header of three":        `{"method":"POST","url":"https://r/","headers":[["X","a","b"]],"body":{"text":""}}`,
		"a header without a name":  `{"method":"POST","url":"https://r/","headers":[["","a"]],"body":{"text":""}}`,
		"a null header":            `{"method":"POST","url":"https://r/","headers":[["X",null]],"body":{"text":""}}`,
		"a line break in a header": `{"method":"POST","url":"https://r/","headers":[["X","a\r\nY: b"]],"body":{"text":""}}`,
		"one hidden in base64":     `{"method":"POST","url":"https://r/","headers":[["X",{"base64":"DQo="}]],"body":{"text":""}}`,
		"headers by name":          `{"method":"POST","url":"https://r/","headers":{"X":"a"},"body":{"text":""}}`,
		"a bare header":            `{"method":"POST","url":"https://r/","headers":["X"],"body":{"text":""}}`,
		"headers without end":      `{"method":"POST","url":"https://r/","headers":[` + strings.Repeat(`["a",""],`, 10000) + `["a",""]],"body":{"text":""}}`,
		"a body of both forms":     `{"method":"POST","url":"https://r/","headers":[],"body":{"text":"","base64":""}}`,
		"a body of no form":        `{"method":"POST","url":"https://r/","headers":[],"body":{}}`,
		"a body not base64":        `{"method":"POST","url":"https://r/","headers":[],"body":{"base64":"?"}}`,
		"a bare body":              `{"method":"POST","url":"https://r/","headers":[],"body":"x"}`,
	} {
		if got, err := delivery.Parse([]byte(plaintext)); !errors.Is(err, delivery.ErrNotRequest) {
			t.Errorf("%s: Parse = %+v, %v; want ErrNotRequest", name, got, err)
		}
	}
}

func TestAsManyHeadersAsMayBe(t *testing.T) {
	r := request(func(r *delivery.Request) { r.Headers = slices.Repeat([][2]string{{"A", ""}}, 10000) })
	if got, err := delivery.Parse(r.AppendJSON(nil)); err != nil || !got.Equal(r) {
		t.Errorf("%d headers, %v; want 10000", len(got.Headers), err)
	}
}

func TestAnswersComeBackToTheByte(t *testing.T) {
	for _, r := range []delivery.Response{
		{Status: 204},
		{Status: 200, Headers: [][2]string{{"Content-Type", "text/xml"}, {"X-Name", "Ren\xe9"}}, Body: []byte("<Response/>")},
		{Status: 599, Body: []byte{0xff, 0}},
	} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got delivery.Response
		if err := json.Unmarshal(b, &got); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		if got.Status != r.Status || !slices.Equal(got.Headers, r.Headers) || !bytes.Equal(got.Body, r.Body) {
			t.Errorf("%s came back as %+v, want %+v", b, got, r)
		}
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	for name, text := range map[string]string{
		"no status":                `{}`,
		"an interim status":        `{"status":101}`,
		"a status beyond all":      `{"status":600}`,
		"a line break in a header": `{"status":200,"headers":[["X","a\nb"]]}`,
		"half a header":            `{"status":200,"headers":[["X"]]}`,
		"a body of no form":        `{"status":200,"body":{}}`,
	} {
		var got delivery.Response
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: read as %+v, want an error", name, got)
		}
	}
}

// Whatever a request holds, it comes back to the byte, or is refused whole.
func FuzzComesBackToTheByte(f *testing.F) {
	f.Add("POST", "https://r/hooks/x?q=\xff", "X-Name", "Ren\xe9", []byte("\x00\xff"))
	f.Add("GET", "https://r/", "A", "\ufffd\u2028<&>\"\\\t", []byte("\u2029\"\\</script>"))
	f.Add("P\n", " ", "", "\r\n", []byte{})
	f.Fuzz(func(t *testing.T, method, address, name, value string, body []byte) {
		r := delivery.Request{Method: method, URL: address, Headers: [][2]string{{name, value}, {name, ""}}, Body: body}
		got, err := delivery.Parse(r.AppendJSON(nil))
		if err == nil && !got.Equal(r) {
			t.Errorf("%+q came back as %+q", r, got)
		}
		if err != nil && !errors.Is(err, delivery.ErrNotRequest) {
			t.Errorf("%+q: %v, want ErrNotRequest", r, err)
		}
		if plain := (delivery.Request{Method: "POST", URL: "/", Body: body}); err != nil {
			if got, err := delivery.Parse(plain.AppendJSON(nil)); err != nil || !got.Equal(plain) {
				t.Errorf("body %q came back as %q, %v", body, got.Body, err)
			}
		}
	})
}
