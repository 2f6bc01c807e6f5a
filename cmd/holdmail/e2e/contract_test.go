package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// The contract tests hold the binary to the relay's specification, status by
// status, as seen by a client that trusts nothing but the wire.

// request is one call, with exactly these headers.
type request struct {
	Method string
	Path   string
	Header map[string]string
	Body   string
}

// send sends one request, follows no redirect, and reads the whole answer.
func (r *relay) send(t testing.TB, q request) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), q.Method, r.URL+q.Path, strings.NewReader(q.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range q.Header {
		req.Header.Set(name, value)
	}
	return r.roundTrip(t, req)
}

func (r *relay) roundTrip(t testing.TB, req *http.Request) answer {
	t.Helper()
	resp, err := r.client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", req.Method, req.URL.Path, err, r.log)
	}
	return readAnswer(t, resp)
}

func readAnswer(t testing.TB, resp *http.Response) answer {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading an answer %d: %v", resp.StatusCode, err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// post sends a JSON body, or whatever else type is given.
func (r *relay) post(t testing.TB, path, contentType, body string) answer {
	t.Helper()
	return r.send(t, request{http.MethodPost, path, header("Content-Type", contentType), body})
}

// header is one header, or none when its value is empty.
func header(name, value string) map[string]string {
	if value == "" {
		return map[string]string{}
	}
	return map[string]string{name: value}
}

// wantJSON fails the test unless a is a 200 whose body is the JSON of want.
func wantJSON(t testing.TB, a answer, want string) {
	t.Helper()
	wantType(t, a, http.StatusOK)
	var gotValue, wantValue any
	if err := json.Unmarshal(a.Body, &gotValue); err != nil {
		t.Fatalf("answer %q: %v", a.Body, err)
	}
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotValue, wantValue) {
		t.Errorf("answer %s, want %s", a.Body, want)
	}
}

// wantRefusal fails the test unless a is a refusal in the relay's dialect:
// {"error": "<one plain sentence>"}. It returns the sentence.
func wantRefusal(t testing.TB, a answer, status int) string {
	t.Helper()
	wantType(t, a, status)
	var said struct{ Error string }
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&said); err != nil || said.Error == "" || strings.Contains(said.Error, "\n") {
		t.Errorf("%d with body %q (%v), want an error in one sentence", a.Status, a.Body, err)
	}
	return said.Error
}

func wantType(t testing.TB, a answer, status int) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d %s, want %d", a.Status, a.Body, status)
	}
	if media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type")); media != "application/json" {
		t.Errorf("Content-Type %q (%v), want application/json", a.Header.Get("Content-Type"), err)
	}
}
