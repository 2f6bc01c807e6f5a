package mailbox

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/flight"
)

// ErrNotEnvelope is wrapped with one sentence that says what is wrong with a
// body, and tells nothing of what is in it.
var ErrNotEnvelope = errors.New("not a DIDComm encrypted envelope")

func notEnvelope(why string) error { return fmt.Errorf("%w: %s", ErrNotEnvelope, why) }

// Recipients returns the DIDs that a packed envelope is addressed to, each once,
// in the order they are first named (relay spec §4). It opens nothing and keeps
// no part of packed, which must be valid UTF-8.
//
// An envelope is a JSON object with a ciphertext, a protected header and, of
// two forms, one: a list of at most max recipients, or the header of a single
// one. Any other body is ErrNotEnvelope, and so is one that names what routes it
// twice, or whose key ids are not those of bare DIDs: no copy may end up in a
// mailbox that nobody can open.
func Recipients(packed []byte, max int) ([]did.ID, error) {
	return recipientsOf(packed, max, nil)
}

// recipientsOf is Recipients whose copies of packed are held by load. Its errors
// are returned as they are.
func recipientsOf(packed []byte, max int, load *flight.Load) ([]did.ID, error) {
	e := envelope{in: decoder(packed), load: load, max: max, known: map[did.ID]bool{}}
	if e.in.PeekKind() != jsontext.KindBeginObject {
		if isCompact(packed) {
			return nil, notEnvelope("a compact JWE names no recipient, send its JSON form")
		}
		return nil, notEnvelope("expected a JSON object")
	}
	if err := eachMember(e.in, e.member); err != nil {
		return nil, err
	}
	if _, err := e.in.ReadToken(); err != io.EOF {
		return nil, errSyntax
	}
	if err := e.complete(); err != nil {
		return nil, err
	}
	return e.to, nil
}

// perRecipient is what remembering a recipient takes besides its DID, in bytes.
const perRecipient = 128

// envelope is what is known of an envelope while it is read.
type envelope struct {
	in   *jsontext.Decoder
	load *flight.Load // holds what is copied
	max  int          // recipients

	sealed    bool // a ciphertext was read
	protected bool // a protected header was read
	listed    bool // a list of recipients was read: the general form
	single    bool // the header of a single one was read: the flattened form

	to    []did.ID
	known map[did.ID]bool // those in to
}

// complete says what an envelope lacks, once all of it is read.
func (e *envelope) complete() error {
	switch {
	case !e.sealed:
		return notEnvelope("there is no ciphertext")
	case !e.protected:
		return notEnvelope("there is no protected header")
	case e.listed && e.single:
		return notEnvelope("there are both recipients and a header")
	case len(e.to) == 0:
		return notEnvelope("there are no recipients")
	}
	return nil
}

// member reads a member of the envelope itself.
func (e *envelope) member(n name) (err error) {
	switch n {
	case ciphertext:
		e.sealed = true
		err = e.ciphertext()
	case protected:
		e.protected = true
		err = e.protectedHeader()
	case recipients:
		e.listed = true
		err = e.recipients()
	case header:
		e.single = true
		err = e.header()
	default:
		err = skip(e.in)
	}
	return err
}

func (e *envelope) ciphertext() error {
	raw, err := stringValue(e.in, "ciphertext is not a string")
	if err == nil && len(raw) == len(`""`) {
		err = notEnvelope("ciphertext is empty")
	}
	return err
}

func (e *envelope) protectedHeader() error {
	raw, err := stringValue(e.in, "protected is not a string")
	if err != nil {
		return err
	}
	if err := e.load.Hold(int64(len(raw))); err != nil {
		return err
	}
	defer e.load.Drop(int64(len(raw)))
	if !isBase64Object(unquoted(raw)) {
		err = notEnvelope("protected is not base64url of a JSON object")
	}
	return err
}

// recipients reads the list, no further than its max-th entry.
func (e *envelope) recipients() error {
	if e.in.PeekKind() != jsontext.KindBeginArray {
		return notEnvelope("recipients is not an array")
	}
	if _, err := e.in.ReadToken(); err != nil {
		return errSyntax
	}
	for n := 0; e.in.PeekKind() != jsontext.KindEndArray; n++ {
		if n == e.max {
			return notEnvelope(fmt.Sprintf("there are more than %d recipients", e.max))
		}
		if err := e.recipient(); err != nil {
			return err
		}
	}
	if _, err := e.in.ReadToken(); err != nil {
		return errSyntax
	}
	return nil
}

// recipient reads an entry of the list.
func (e *envelope) recipient() error {
	if e.in.PeekKind() != jsontext.KindBeginObject {
		return notEnvelope("a recipient is not an object")
	}
	named := false
	err := eachMember(e.in, func(n name) error {
		if n != header {
			return skip(e.in)
		}
		named = true
		return e.header()
	})
	if err == nil && !named {
		err = notEnvelope("a recipient has no header")
	}
	return err
}

// header reads the header of one recipient and files its DID.
func (e *envelope) header() error {
	if e.in.PeekKind() != jsontext.KindBeginObject {
		return notEnvelope("a recipient's header is not an object")
	}
	named := false
	err := eachMember(e.in, func(n name) error {
		if n != kid {
			return skip(e.in)
		}
		named = true
		return e.kid()
	})
	if err == nil && !named {
		err = notEnvelope("a recipient's header has no kid")
	}
	return err
}

func (e *envelope) kid() error {
	raw, err := stringValue(e.in, "a recipient's kid is not a string")
	if err != nil {
		return err
	}
	id, err := did.OfKeyID(string(unquoted(raw)))
	if err != nil {
		return notEnvelope("a recipient's kid is not the key id of a bare DID")
	}
	id = id.Canonical() // the two forms of one DID are one mailbox
	if !e.known[id] {
		if err := e.load.Hold(int64(len(id)) + perRecipient); err != nil {
			return err
		}
		e.known[id] = true
		e.to = append(e.to, id)
	}
	return nil
}
