package pull

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// digest tells requests apart: by address, method, query, body, and by what the
// sender signs or counts by. signed says that the request carries some of that, so
// that an equal digest is the same delivery again.
func digest(h Hook, r delivery.Request) (sum [32]byte, signed bool) {
	d := sha256.New()
	for _, s := range []string{h.ID, r.Method, r.Query(), string(r.Body)} {
		add(d, s)
	}
	for _, header := range r.Headers {
		if name := strings.ToLower(header[0]); tellsApart(name) {
			add(d, name)
			add(d, header[1])
			signed = true
		}
	}
	return [32]byte(d.Sum(nil)), signed
}

// add adds a string with its length, so that no two lists of strings are alike.
func add(d hash.Hash, s string) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	d.Write([]byte(s))
}

// tellsApart knows the headers that senders sign with or count by, in small letters.
func tellsApart(name string) bool {
	switch name {
	case "webhook-id", "webhook-timestamp", // Standard Webhooks
		"svix-id", "svix-timestamp",
		"x-github-delivery", "x-gitea-delivery", "x-gitlab-event-uuid",
		"i-twilio-idempotency-token", "x-slack-request-timestamp",
		"x-shopify-webhook-id", "paypal-transmission-id", "idempotency-key":
		return true
	}
	return strings.Contains(name, "signature") || strings.Contains(name, "-hmac-")
}
