package did

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Document is the part of a DID document that we read.
type Document struct {
	ID      string // the DID it says it describes, or "" if it does not say
	Signing Key    // proves control of the DID
}

// verificationMethod is one key of a document.
type verificationMethod struct {
	ID        string `json:"id"`
	JWK       *JWK   `json:"publicKeyJwk"`
	Multibase string `json:"publicKeyMultibase"`
}

// key returns the method's key. With both spellings the JWK counts.
func (m verificationMethod) key() (Key, error) {
	switch {
	case m.JWK != nil:
		return m.JWK.Key()
	case m.Multibase != "":
		return multibaseKey(m.Multibase)
	}
	return Key{}, fmt.Errorf("%w: the method has neither publicKeyJwk nor publicKeyMultibase", ErrNoKey)
}

// FirstMethod reads a document of which verificationMethod[0] signs and no other
// key does (relay spec §3). Its ID is set also when it has no such key, which must
// be a JWK on secp256k1; that, and what cannot be read, is ErrNoKey.
func FirstMethod(text []byte) (Document, error) {
	var doc struct {
		ID      string            `json:"id"`
		Methods []json.RawMessage `json:"verificationMethod"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return Document{}, fmt.Errorf("%w: unreadable DID document", ErrNoKey)
	}
	found := Document{ID: doc.ID}
	if len(doc.Methods) == 0 {
		return found, fmt.Errorf("%w: the document has no verification method", ErrNoKey)
	}
	// What follows the first may be of a shape we do not know.
	var first struct {
		JWK *JWK `json:"publicKeyJwk"`
	}
	if err := json.Unmarshal(doc.Methods[0], &first); err != nil {
		return found, fmt.Errorf("%w: unreadable first verification method", ErrNoKey)
	}
	if first.JWK == nil || first.JWK.Curve != string(Secp256k1) {
		return found, fmt.Errorf("%w: the first verification method is no secp256k1 JWK", ErrNoKey)
	}
	var err error
	found.Signing, err = first.JWK.Key()
	return found, err
}

// Authentication reads a document of which the first key of authentication signs,
// written there or among its verification methods (DID Core §5.3.1). It describes
// id: that is what relative names in it are relative to. What has no such key of a
// kind we verify is ErrNoKey; the Document's ID is set if it can be read at all.
func Authentication(text []byte, id ID) (Document, error) {
	var doc struct {
		ID      string            `json:"id"`
		Methods []json.RawMessage `json:"verificationMethod"`
		Signing []json.RawMessage `json:"authentication"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return Document{}, fmt.Errorf("%w: unreadable DID document", ErrNoKey)
	}
	found := Document{ID: doc.ID}
	if len(doc.Signing) == 0 {
		return found, fmt.Errorf("%w: the document has no authentication", ErrNoKey)
	}
	method, ok := pick(doc.Signing[0], doc.Methods, id)
	if !ok {
		return found, fmt.Errorf("%w: the first of authentication is not in the document", ErrNoKey)
	}
	var err error
	found.Signing, err = method.key()
	return found, err
}

// pick returns the method that an entry of authentication is, or names.
func pick(entry json.RawMessage, methods []json.RawMessage, id ID) (m verificationMethod, ok bool) {
	var name string
	if json.Unmarshal(entry, &name) != nil {
		return m, json.Unmarshal(entry, &m) == nil
	}
	for _, method := range methods {
		var m verificationMethod
		// Methods of a shape we do not know are passed over.
		if json.Unmarshal(method, &m) == nil && m.ID != "" && absolute(m.ID, id) == absolute(name, id) {
			return m, true
		}
	}
	return m, false
}

// absolute is a key's name with the DID in front.
func absolute(name string, id ID) string {
	if strings.HasPrefix(name, "#") {
		return string(id) + name
	}
	return name
}
