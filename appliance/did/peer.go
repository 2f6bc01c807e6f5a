package did

import (
	"fmt"
	"strings"
)

const peerPrefix = "did:peer:"

// PeerDocument returns the document that a did:peer of numalgo 0, 2 or 4 (long
// form) stands for, which needs nobody's help (Peer DID Method Specification,
// "Generation Method"). All else is ErrNoKey.
func PeerDocument(id ID) (Document, error) {
	rest, _ := strings.CutPrefix(string(id), peerPrefix)
	var key Key
	err := fmt.Errorf("%w: not a did:peer of numalgo 0, 2 or 4 in its long form", ErrNoKey)
	switch {
	case len(rest) == len(id) || rest == "":
	case rest[0] == '0':
		key, err = base58Key(rest[1:])
	case rest[0] == '2':
		key, err = peer2Key(rest[1:])
	case rest[0] == '4':
		key, err = peer4Key(id)
	}
	if err != nil {
		return Document{}, err
	}
	return Document{ID: string(id), Signing: key}, nil
}

// peer2Key returns the first authentication key among the elements of a numalgo 2:
// each begins with a dot and the letter of its purpose. An encryption key often
// stands before it.
func peer2Key(elements string) (Key, error) {
	first, elements, _ := strings.Cut(elements, ".")
	if first != "" || elements == "" {
		return Key{}, fmt.Errorf("%w: did:peer:2 has no elements", ErrNoKey)
	}
	var signing string
	for element := range strings.SplitSeq(elements, ".") {
		if len(element) < 2 || !strings.Contains("AEVIDS", element[:1]) {
			return Key{}, fmt.Errorf("%w: did:peer:2 has an element without a purpose", ErrNoKey)
		}
		if element[0] == 'V' && signing == "" {
			signing = element[1:]
		}
	}
	if signing == "" {
		return Key{}, fmt.Errorf("%w: did:peer:2 has no authentication key", ErrNoKey)
	}
	return base58Key(signing)
}
