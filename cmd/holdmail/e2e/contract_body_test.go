package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// limit is the upload limit of the relays in this file.
const limit = 4 << 10

func startSmallRelay(t testing.TB) *relay {
	t.Helper()
	return startRelay(t, fmt.Sprintf("ARCHON_DIDCOMM_UPLOAD_LIMIT=%d", limit))
}

func TestTheLimitIsInclusive(t *testing.T) {
	r := startSmallRelay(t)
	for name, encode := range map[string]func(*http.Request, []byte){
		"declared":           declared,
		"chunked":            chunked,
		"gzip":               encoded("gzip", gzipped),
		"gzip, upper case":   encoded("GZIP", gzipped),
		"gzip, two members":  encoded("gzip", twoMembers),
		"deflate":            encoded("deflate", deflated),
		"gzip, not declared": encodedChunked("gzip", gzipped),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWallet(t)
			fits := envelope(limit, name, w)
			var filed struct{ IDs []string }
			decode(t, upload(t, r, fits, encode), &filed)
			wantMail(t, r, w, string(fits))

			wantRefusal(t, upload(t, r, envelope(limit+1, name, w), encode), http.StatusRequestEntityTooLarge)
			wantRefusal(t, upload(t, r, make([]byte, 1<<20), encode), http.StatusRequestEntityTooLarge)
			wantMail(t, r, w, string(fits))
		})
	}
}

// upload deposits packed as encode puts it into the request.
func upload(t testing.TB, r *relay, packed []byte, encode func(*http.Request, []byte)) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/api/v1/messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", packedType)
	encode(req, packed)
	return r.roundTrip(t, req)
}

func declared(req *http.Request, packed []byte) {
	req.Body = io.NopCloser(bytes.NewReader(packed))
	req.ContentLength = int64(len(packed))
}

func chunked(req *http.Request, packed []byte) {
	req.Body = io.NopCloser(bytes.NewReader(packed))
	req.ContentLength = -1
}

func encoded(name string, compress func([]byte) []byte) func(*http.Request, []byte) {
	return func(req *http.Request, packed []byte) {
		req.Header.Set("Content-Encoding", name)
		declared(req, compress(packed))
	}
}

func encodedChunked(name string, compress func([]byte) []byte) func(*http.Request, []byte) {
	return func(req *http.Request, packed []byte) {
		req.Header.Set("Content-Encoding", name)
		chunked(req, compress(packed))
	}
}

func gzipped(packed []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(packed)
	w.Close()
	return b.Bytes()
}

func twoMembers(packed []byte) []byte {
	half := len(packed) / 2
	return append(gzipped(packed[:half]), gzipped(packed[half:])...)
}

func deflated(packed []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(packed)
	w.Close()
	return b.Bytes()
}

func TestOtherEncodingsAreRefused(t *testing.T) {
	r := startSmallRelay(t)
	w := newWallet(t)
	packed := envelope(600, "encoded", w)
	for _, encoding := range []string{"br", "zstd", "compress", "gzip, gzip", "aes128gcm"} {
		a := upload(t, r, packed, encoded(encoding, bytes.Clone))
		wantRefusal(t, a, http.StatusUnsupportedMediaType)
	}
	cut := func(b []byte) []byte { b = gzipped(b); return b[:len(b)-9] }
	for name, a := range map[string]answer{
		"gzip that is none":    upload(t, r, packed, encoded("gzip", bytes.Clone)),
		"gzip cut short":       upload(t, r, packed, encoded("gzip", cut)),
		"deflate that is none": upload(t, r, packed, encoded("deflate", bytes.Clone)),
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, a, http.StatusBadRequest) })
	}
	wantMail(t, r, w)
}

// TestRefusalsDoNotWaitForABody sends no byte of the body that it announces.
func TestRefusalsDoNotWaitForABody(t *testing.T) {
	r := startSmallRelay(t)
	for _, tt := range []struct {
		name, requestLine, header string
		status                    int
	}{
		{"over the limit", "POST /api/v1/messages", "Content-Length: 4097", 413},
		{"far over the limit", "POST /didcomm/api/v1/messages", "Content-Length: 9223372036854775807", 413},
		{"over the limit, expecting to be asked", "POST /api/v1/messages", "Content-Length: 4097\r\nExpect: 100-continue", 413},
		{"far over the limit, compressed", "POST /api/v1/messages", "Content-Length: 1000000\r\nContent-Encoding: gzip", 413},
		{"a proof over 2 MiB", "POST /api/v1/messages/fetch", "Content-Length: 2097153", 413},
		{"a removal over 2 MiB", "POST /api/v1/messages/remove", "Content-Length: 2097153", 413},
		{"not found", "POST /api/v1/nothing", "Content-Length: 10", 404},
		{"not found, chunked", "POST /api/v1/nothing", "Transfer-Encoding: chunked", 404},
		{"wrong method", "PUT /api/v1/messages", "Content-Length: 10", 405},
		{"unknown encoding", "POST /api/v1/messages", "Content-Length: 10\r\nContent-Encoding: br", 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, closed := knock(t, r, tt.requestLine+" HTTP/1.1\r\nHost: relay\r\n"+tt.header+"\r\n\r\n")
			wantRefusal(t, a, tt.status)
			if !closed {
				t.Error("the answer has no Connection: close")
			}
			if got := a.Header.Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("allows origin %q, want *", got)
			}
		})
	}
}

// knock sends head and nothing else, reads one answer, and expects the relay to
// hang up when we do. closed says whether the answer announced that.
func knock(t testing.TB, r *relay, head string) (a answer, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("no answer before the body: %v", err)
	}
	a = readAnswer(t, resp)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the answer: %v, want the end of the connection", err)
	}
	return a, resp.Close
}

func TestProofsAreBoundedAtTwoMiB(t *testing.T) {
	r := startSmallRelay(t) // the upload limit is not theirs
	w := newWallet(t)
	for size, status := range map[int]int{2 << 20: 200, 2<<20 + 1: 413} {
		challenge, err := r.challenge()
		if err != nil {
			t.Fatal(err)
		}
		proof := string(w.proof(challenge))
		proof += strings.Repeat(" ", size-len(proof))
		if a := r.post(t, "/api/v1/messages/fetch", "application/json", proof); a.Status != status {
			t.Errorf("a proof of %d bytes: %d %s, want %d", size, a.Status, a.Body, status)
		}
	}
}
