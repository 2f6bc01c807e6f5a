package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a sender sends reaches the receiver byte for byte, whatever it is.
func TestWebhookExact(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "exact")
	every := make([]byte, 64<<10)
	for i := range every {
		every[i] = byte(i)
	}
	form := "name=J%C3%BCrgen+M%26M&empty=&twice=1&twice=2"
	parts := "--cut\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.bin\"\r\n\r\n" + string(every[:1000]) + "\r\n--cut--\r\n"
	packed := zipped(t, []byte(`{"packed":true}`))
	text := "\ufeff{\"a\": \"\\u0000 <&> \u2028\u2029 \ufffd grüße\"}\r\n\x00\x7f\t"

	for i, tt := range []struct {
		name    string
		body    []byte // nil: none is sent
		query   string
		args    []string // of curl, beside the body
		headers []string // that it sends by them
	}{
		{name: "a form", body: []byte(form), headers: []string{"Content-Type: application/x-www-form-urlencoded"}},
		{name: "a form in parts", body: []byte(parts), headers: []string{"Content-Type: multipart/form-data; boundary=cut"}},
		{name: "a gzipped body", body: packed, headers: []string{"Content-Type: application/json", "Content-Encoding: gzip"}},
		{name: "every byte there is", body: every, headers: []string{"Content-Type: application/octet-stream"}},
		{name: "awkward text", body: []byte(text), headers: []string{"Content-Type: application/json; charset=utf-8"}},
		{name: "an empty body", body: []byte{}, headers: []string{"Content-Type: text/plain"}},
		{name: "the longest body", body: bytes.Repeat([]byte("ab\x80"), 1<<20/3+1)[:1<<20], headers: []string{"Content-Type: application/octet-stream"}},
		{name: "no body and no type", args: []string{"-X", "POST"}},
		{name: "a GET with a query", query: "?b=2&a=1&a=%2F%2f&empty=&plus=a+b&bare&utf=%E2%82%AC&&=;"},
		{name: "a POST with a query", query: "?signature=ab%3D%3D", body: []byte("x"), headers: []string{"Content-Type: text/plain"}},
		{name: "a query that a parser would cut", query: "?a=#b", args: []string{"--request-target", path + "?a=#b"}},
		{name: "headers twice", body: []byte("x"), headers: []string{"Content-Type: text/plain", "X-Twice: b", "X-Twice: a", "X-Twice: b", "X-Once: a, b"}},
		{name: "headers that are no ASCII", body: []byte("x"), headers: []string{"Content-Type: text/plain", "X-City: Z\xfcrich", "X-Town: Zürich", "X-Empty;"}},
		{name: "in chunks", body: every[:50_000], headers: []string{"Content-Type: text/plain"}, args: []string{"-H", "Transfer-Encoding: chunked"}},
		{name: "in chunks, with nothing in them", body: []byte{}, headers: []string{"Content-Type: text/plain"}, args: []string{"-H", "Transfer-Encoding: chunked"}},
		{name: "asking first", body: every, headers: []string{"Content-Type: text/plain"}, args: []string{"-H", "Expect: 100-continue"}},
		{name: "in HTTP/1.0", body: every, headers: []string{"Content-Type: text/plain"}, args: []string{"--http1.0"}},
	} {
		// One after the other, so that the n-th the receiver sees is the n-th here.
		args := slices.Concat([]string{"-H", "User-Agent: sender/1", "-H", "Accept:"}, tt.args)
		for _, line := range tt.headers {
			args = append(args, "-H", line)
		}
		method := http.MethodGet
		if tt.body != nil || slices.Contains(tt.args, "POST") {
			method = http.MethodPost
		}
		curl(t, h.relay.URL+path+tt.query, tt.body, args...)
		got := h.receiver.await(t, i+1)[i]

		if got.Method != method || got.URL != "/exact"+tt.query || got.OriginalURL != h.Public+path+tt.query {
			t.Errorf("%s: came as %s %s from %s", tt.name, got.Method, got.URL, got.OriginalURL)
		}
		if sum := sha256.Sum256(tt.body); got.Size != len(tt.body) || got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %d other bytes came, want %d", tt.name, got.Size, len(tt.body))
		}
		if got, want := got.senders(), sentHeaders(tt.headers); !slices.Equal(got, want) {
			t.Errorf("%s: came with headers\n%q, want\n%q", tt.name, got, want)
		}
	}
}

// What names the sender's address, what belongs to its connection, and cookies stay
// behind.
func TestWebhookLeavesBehind(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "behind")
	curl(t, h.relay.URL+path, []byte("x"), "-H", "User-Agent: sender/1", "-H", "Accept:", "-H", "Content-Type: text/plain",
		"-H", "Cookie: a=b", "-H", "X-Forwarded-For: 203.0.113.7", "-H", "Forwarded: for=203.0.113.7", "-H", "X-Real-IP: 203.0.113.7",
		"-H", "Connection: keep-alive, X-Hop", "-H", "X-Hop: 1", "-H", "Keep-Alive: timeout=5", "-H", "TE: trailers", "-H", "Proxy-Authorization: Basic eA==")
	got := h.receiver.await(t, 1)[0].senders()
	if want := sentHeaders([]string{"Content-Type: text/plain"}); !slices.Equal(got, want) {
		t.Errorf("came with headers %q, want %q", got, want)
	}
}

// A sender that asks first is told to go on before it sends its body; one that
// knows no address, or has too much, is refused without being asked for it.
func TestWebhookExpectContinue(t *testing.T) {
	t.Parallel()
	h, path := pulledHook(t, "asking")
	const head = "POST %s HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
	for _, tt := range []struct {
		name, path string
		length     int64
		want       []int
	}{
		{"a delivery", path, 5, []int{100, 200}},
		{"an unknown address", path + "x", 5, []int{404}},
		{"too much", path, 1<<20 + 1, []int{413}},
		{"more than there is memory", path, 1 << 40, []int{413}},
	} {
		if got := converse(t, h.relay, fmt.Sprintf(head, tt.path, tt.length), "hello"); !slices.Equal(got, tt.want) {
			t.Errorf("%s is answered %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := h.receiver.await(t, 1)[0]; got.Size != 5 {
		t.Errorf("%d bytes came, want 5", got.Size)
	}
}

// converse sends head, and body once it is asked for it, and returns the statuses
// of all answers.
func converse(t testing.TB, r *relay, head, body string) (statuses []int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for text := head; ; text = body {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("after %v: %v", statuses, err)
		}
		statuses = append(statuses, resp.StatusCode)
		if resp.StatusCode != http.StatusContinue {
			return statuses
		}
	}
}

// pulledHook is a home that pulls for one address, and the address's path.
func pulledHook(t testing.TB, name string, env ...string) (*home, string) {
	t.Helper()
	h := newHome(t, env...)
	h.relay.start(t)
	path := h.addHook(t, name)
	h.start(t, path)
	return h, path
}

// curl sends body, or nothing where it is nil, to url as args say, and returns what
// came back. Anything but a 2xx fails the test.
func curl(t testing.TB, url string, body []byte, args ...string) string {
	t.Helper()
	all := append([]string{"-q", "-sS", "-g", "--fail-with-body", "--max-time", "60"}, args...)
	if body != nil {
		file := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, "--data-binary", "@"+file)
	}
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "curl", append(all, url)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("curl: %v\n%s%s", err, &out, &log)
	}
	return out.String()
}

// senders are the headers that are the sender's own, as "name: value", sorted by
// name, the values of one name in the order they came.
func (h handled) senders() (lines []string) {
	for _, pair := range h.Headers {
		name := strings.ToLower(pair[0])
		switch {
		case strings.HasPrefix(name, "holdmail-"):
		case slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "expect"}, name):
		default:
			lines = append(lines, name+": "+pair[1])
		}
	}
	slices.SortStableFunc(lines, byName)
	return lines
}

// sentHeaders are the same of curl's arguments. Node reads a header's bytes as
// Latin-1.
func sentHeaders(args []string) []string {
	lines := []string{"user-agent: sender/1"}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, ":")
		if !found {
			name = strings.TrimSuffix(arg, ";") // curl's way to send none
		}
		lines = append(lines, strings.ToLower(name)+": "+latin1(strings.TrimSpace(value)))
	}
	slices.SortStableFunc(lines, byName)
	return lines
}

func byName(a, b string) int {
	a, _, _ = strings.Cut(a, ":")
	b, _, _ = strings.Cut(b, ":")
	return strings.Compare(a, b)
}

func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
