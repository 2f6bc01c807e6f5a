package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPairs is more headers than fit into what a server reads of them. Small ones take
// several times the memory that they take in JSON.
const maxPairs = 10_000

var errHeader = errors.New("not a header")

// pairs are headers that HTTP allows (RFC 9110 §5).
type pairs [][2]string

// UnmarshalJSON reads [["name","value"],...].
func (p *pairs) UnmarshalJSON(b []byte) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(b))
	if start, err := in.ReadToken(); err != nil || start.Kind() == jsontext.KindNull {
		return err
	}
	for in.PeekKind() == jsontext.KindBeginArray {
		if len(*p) == maxPairs {
			return fmt.Errorf("%w: more than %d of them", errHeader, maxPairs)
		}
		pair, err := readPair(in)
		if err != nil {
			return err
		}
		*p = append(*p, pair)
	}
	if in.PeekKind() != jsontext.KindEndArray {
		return fmt.Errorf("%w: headers are a list of lists", errHeader)
	}
	return nil
}

func readPair(in *jsontext.Decoder) (pair [2]string, err error) {
	in.ReadToken() // the bracket
	for i := range pair {
		value, err := in.ReadValue()
		if err != nil {
			return pair, fmt.Errorf("%w: a header is a name and a value", errHeader)
		}
		var t text
		if err := t.UnmarshalJSON(value); err != nil {
			return pair, err
		}
		pair[i] = string(t)
	}
	if end, err := in.ReadToken(); err != nil || end.Kind() != jsontext.KindEndArray {
		return pair, fmt.Errorf("%w: a header is a name and a value", errHeader)
	}
	if !isToken(pair[0]) || strings.ContainsFunc(pair[1], isControl) {
		return pair, fmt.Errorf("%w: HTTP does not allow its name or its value", errHeader)
	}
	return pair, nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
