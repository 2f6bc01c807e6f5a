package door

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// JSON answers with v under status. It writes nothing if v cannot be encoded.
func JSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// refuse answers with e. A caller that is gone by now is no news to anyone.
func refuse(w http.ResponseWriter, e *Error) {
	h := w.Header()
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if e.Close {
		h.Set("Connection", "close")
	}
	body := e.Body
	if body == nil {
		body = struct {
			Error string `json:"error"`
		}{e.Message}
	}
	_ = JSON(w, e.Status, body)
}

// answer remembers how far an answer has come.
type answer struct {
	http.ResponseWriter
	head   bool // the answer has no body
	began  bool // the status is sent; it cannot be taken back
	broken bool // the caller takes no more bytes
}

// WriteHeader sends the status.
func (a *answer) WriteHeader(status int) {
	a.began = true
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a piece of the body, or drops it if the caller asked for none.
func (a *answer) Write(p []byte) (int, error) {
	a.began = true
	if a.head {
		return len(p), nil
	}
	n, err := a.ResponseWriter.Write(p)
	if err != nil {
		a.broken = true
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
