package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxSaid  = 64 << 10 // bytes of an answer that is no delivery
	maxWords = 500      // bytes of an error, as it is logged
)

// errSilent is an answer that does not come, or stands still.
var errSilent = errors.New("the relay is silent")

// call is one call to a relay.
type call struct {
	method, path string
	body         any           // nil is none
	wait         time.Duration // that the relay was asked for
	long         bool          // the answer may take as long as it goes on coming
	read         func(io.Reader) error
}

// into reads a short answer.
func into(value any) func(io.Reader) error {
	return func(body io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(body, maxSaid))
		if err != nil {
			return err
		}
		return json.Unmarshal(b, value)
	}
}

// call makes c. Its errors do not show the token, whatever the relay answers, and are
// short.
func (r *Relay) call(ctx context.Context, c call) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	quiet := time.AfterFunc(c.wait+r.patience, func() { giveUp(errSilent) })
	defer quiet.Stop()
	err := r.send(ctx, c, func() { quiet.Reset(r.patience) })
	if err != nil && context.Cause(ctx) == errSilent {
		return errSilent
	}
	return r.brief(err)
}

func (r *Relay) send(ctx context.Context, c call, heard func()) error {
	req, err := r.request(ctx, c)
	if err != nil {
		return err
	}
	res, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("the relay is out of reach: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		return refusal(res)
	}
	r.setClock(res)
	body := io.Reader(res.Body)
	if c.long {
		body = listener{body, heard}
	}
	if c.read != nil {
		if err := c.read(body); err != nil {
			return fmt.Errorf("the answer is not what a relay says, or broke off: %w", err)
		}
	}
	_, err = io.CopyN(io.Discard, res.Body, maxSaid) // to its end, or the connection is not used again
	if err == io.EOF {
		return nil
	}
	return err
}

func (r *Relay) request(ctx context.Context, c call) (*http.Request, error) {
	var content io.Reader
	if c.body != nil {
		var written bytes.Buffer
		in := json.NewEncoder(&written)
		in.SetEscapeHTML(false) // which would make six bytes of one in many an answer
		if err := in.Encode(c.body); err != nil {
			return nil, err
		}
		content = &written
	}
	req, err := http.NewRequestWithContext(ctx, c.method, r.base+c.path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// listener calls heard for what it reads. A delivery over a slow line takes minutes.
type listener struct {
	io.Reader
	heard func()
}

// Read reads.
func (l listener) Read(p []byte) (n int, err error) {
	if n, err = l.Reader.Read(p); n > 0 {
		l.heard()
	}
	return n, err
}

// refusal says in words what an answer means that is not a good one.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return ErrToken
	case http.StatusNotFound:
		return ErrNoDoor
	}
	words, _ := io.ReadAll(io.LimitReader(res.Body, maxSaid))
	err := fmt.Errorf("the relay answered %d: %q", res.StatusCode, strings.TrimSpace(string(words)))
	if res.StatusCode == http.StatusServiceUnavailable {
		return unavailable{err}
	}
	return err
}

// unavailable is the error of a relay that lacks something now, such as room.
type unavailable struct{ error }

// brief is err as it may be logged: there are servers that answer with what they
// were asked, the token with it.
func (r *Relay) brief(err error) error {
	if err == nil || len(err.Error()) <= maxWords && !strings.Contains(err.Error(), r.token) {
		return err
	}
	words := strings.ReplaceAll(err.Error(), r.token, "(the token)")
	return errors.New(words[:min(len(words), maxWords)])
}

// setClock notes what time it is by the relay's clock (RFC 9110 §6.6.1).
func (r *Relay) setClock(res *http.Response) {
	var now int64
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = at.Unix()
	}
	r.clock.Store(now)
}

// said is what time it was at the relay when it answered last; 1970 if it does not
// say.
func (r *Relay) said() time.Time { return time.Unix(r.clock.Load(), 0) }
