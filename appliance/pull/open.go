package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/delivery"
)

const (
	oldest    = 7*24*time.Hour + time.Hour // that a relay may claim
	ahead     = 5 * time.Minute            // that its clock may be
	waitedFor = time.Minute
)

var (
	errOtherHook = errors.New("it was sealed for another hook")
	errMethod    = errors.New("its method is none that a hook takes")
)

// open opens what the relay handed out.
func (p *Pull) open(s sealed) (delivery.Request, error) {
	plaintext, err := p.Key.Open(s.ID, s.received(), s.Sealed)
	if err != nil {
		return delivery.Request{}, err
	}
	r, err := delivery.Parse(plaintext)
	if err != nil {
		return delivery.Request{}, err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return delivery.Request{}, errMethod
	}
	if hashOfHook(r.URL) != s.Hook {
		return delivery.Request{}, errOtherHook
	}
	return r, nil
}

// hashOfHook is the hash of the last segment of a URL's path: the hook that the
// sender wrote to. The relay's own word for it stands outside the seal.
func hashOfHook(address string) string {
	path, _, _ := strings.Cut(address, "?")
	path = strings.TrimRight(path, "/")
	sum := sha256.Sum256([]byte(path[strings.LastIndexByte(path, '/')+1:]))
	return hex.EncodeToString(sum[:])
}

// off is by how much a time cannot be; 0 is a time that can. One of the two clocks
// is wrong then: a board without a battery starts in 1970.
func off(received, now time.Time) time.Duration {
	switch age := now.Sub(received); {
	case age > oldest:
		return age - oldest
	case age < -ahead:
		return age + ahead
	default:
		return 0
	}
}
