package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

var errNotResponse = errors.New("not an answer that can be handed on")

// Response is the handler's answer to a request, as the home computer sends it to
// the relay for a sender who is still there.
type Response struct {
	Status  int
	Headers [][2]string
	Body    []byte
}

// MarshalJSON writes headers and body in the form of a Request's:
//
//	{"status":200,"headers":[["Content-Type","text/plain"]],"body":{"text":"ok"}}
func (r Response) MarshalJSON() ([]byte, error) {
	dst := strconv.AppendInt([]byte(`{"status":`), int64(r.Status), 10)
	dst = appendHeaders(append(dst, `,"headers":`...), r.Headers)
	size, isText := bodyRoom(r.Body)
	dst = appendBody(slices.Grow(append(dst, `,"body":`...), size+1), r.Body, isText)
	return append(dst, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Headers and body may be left out. It
// refuses a status that is not final, and headers that HTTP does not allow.
func (r *Response) UnmarshalJSON(b []byte) error {
	var w struct {
		Status  int   `json:"status"`
		Headers pairs `json:"headers"`
		Body    body  `json:"body"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Status < 200 || w.Status > 599 {
		return fmt.Errorf("%w: its status is not from 200 to 599", errNotResponse)
	}
	*r = Response{Status: w.Status, Headers: w.Headers, Body: w.Body}
	return nil
}
