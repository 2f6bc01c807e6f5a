package resolve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdmail/holdmail/appliance/did"
)

// answer is what a Gatekeeper says, as far as we read it. For an unknown DID it
// says 200, an empty document and an error in the metadata; older ones, and
// what may stand in front of them, say 404 and a plain error.
type answer struct {
	Document   json.RawMessage `json:"didDocument"`
	Resolution struct {
		Error string `json:"error"`
	} `json:"didResolutionMetadata"`
	Error string `json:"error"`
}

// read judges an answer. Only what says in so many words that there is no such
// DID is ErrNotFound: a wrong address or a broken Gatekeeper must not look to a
// wallet as if its signature were bad.
func read(status int, body []byte, asked did.ID) (did.Document, error) {
	switch status {
	case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusGone:
	default:
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper answered %d", ErrUnreachable, status)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper's answer (%d) is not what a Gatekeeper says", ErrUnreachable, status)
	}
	switch {
	case a.Resolution.Error == "internalError":
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper reports an internal error", ErrUnreachable)
	case a.Resolution.Error != "", status != http.StatusOK && a.Error != "":
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper says so (%d)", ErrNotFound, status)
	case status != http.StatusOK, a.Document == nil, string(a.Document) == "null":
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper's answer (%d) has no didDocument", ErrUnreachable, status)
	}
	doc, err := did.FirstMethod(a.Document)
	if !describes(doc.ID, asked) {
		return did.Document{}, fmt.Errorf("%w: the Gatekeeper's document is another DID's", ErrNotFound)
	}
	return doc, err
}

// describes reports whether a document that says it is stated's can be the
// asked DID's. A Gatekeeper knows a DID by its last segment and writes its own
// prefix before it (did:cid:x for did:test:x), so only that segment must agree.
// The mailbox is always the one of the DID that was asked for.
func describes(stated string, asked did.ID) bool {
	return stated == "" || lastSegment(stated) == lastSegment(string(asked))
}

func lastSegment(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }
