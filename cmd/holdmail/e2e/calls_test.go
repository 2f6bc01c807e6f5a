package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answer is an HTTP answer, read to its end.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// call sends one request and reads the whole answer. An answer that breaks off
// is an error. It may be called from any goroutine.
func (r *relay) call(method, path, contentType string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return r.do(req)
}

// do sends req, with any headers a test may want, and reads the whole answer.
func (r *relay) do(req *http.Request) (answer, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body}, err
}

// refusal is an answer other than 200 where 200 was hoped for.
type refusal struct {
	Status     int
	Message    string // the relay's own sentence
	RetryAfter string // the header, "" without one
}

func (e *refusal) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Message) }

// ask is call for JSON: it decodes a 200 into out, and makes any other answer
// a *refusal.
func (r *relay) ask(method, path, contentType string, body []byte, out any) error {
	a, err := r.call(method, path, contentType, body)
	if err != nil {
		return err
	}
	if a.Status == http.StatusOK {
		return json.Unmarshal(a.Body, out)
	}
	var said struct{ Error string }
	if err := json.Unmarshal(a.Body, &said); err != nil || said.Error == "" {
		return fmt.Errorf("%s %s: %d with a body that is no error: %q", method, path, a.Status, a.Body)
	}
	return &refusal{a.Status, said.Error, a.Header.Get("Retry-After")}
}

// deposit posts a packed envelope and returns the ids it was filed under.
func (r *relay) deposit(packed []byte) ([]string, error) {
	var got struct{ IDs []string }
	err := r.ask(http.MethodPost, "/api/v1/messages", "application/didcomm-encrypted+json", packed, &got)
	return got.IDs, err
}

// challenge asks for a fresh challenge.
func (r *relay) challenge() (string, error) {
	var got struct{ Challenge string }
	err := r.ask(http.MethodGet, "/api/v1/challenge", "", nil, &got)
	return got.Challenge, err
}

// message is a message as it is fetched.
type message struct {
	ID       string
	Message  string
	Received time.Time
}

// fetch asks for a challenge and fetches all that waits for w.
func (r *relay) fetch(w wallet) ([]message, error) {
	challenge, err := r.challenge()
	if err != nil {
		return nil, err
	}
	return r.fetchWith(w, challenge)
}

// fetchWith fetches with a challenge that the caller has.
func (r *relay) fetchWith(w wallet, challenge string) ([]message, error) {
	var got struct{ Messages []message }
	err := r.ask(http.MethodPost, "/api/v1/messages/fetch", "application/json", w.proof(challenge), &got)
	return got.Messages, err
}

// remove asks for a challenge, acknowledges ids for w, and returns how many
// were there.
func (r *relay) remove(w wallet, ids ...string) (int, error) {
	challenge, err := r.challenge()
	if err != nil {
		return 0, err
	}
	return r.removeWith(w, challenge, ids...)
}

// removeWith acknowledges with a challenge that the caller has.
func (r *relay) removeWith(w wallet, challenge string, ids ...string) (int, error) {
	var got struct{ Removed int }
	err := r.ask(http.MethodPost, "/api/v1/messages/remove", "application/json", w.proof(challenge, ids...), &got)
	return got.Removed, err
}
