package pickup

import (
	"bytes"
	"io"
)

// same says whether a and b give the same bytes.
func same(a, b io.Reader) (bool, error) {
	var left, right [32 << 10]byte
	for {
		n, err := io.ReadFull(a, left[:])
		m, other := io.ReadFull(b, right[:])
		switch {
		case broken(err):
			return false, err
		case broken(other):
			return false, other
		case !bytes.Equal(left[:n], right[:m]):
			return false, nil
		case n < len(left):
			return true, nil
		}
	}
}

// broken says whether err, of io.ReadFull, is more than an end.
func broken(err error) bool {
	return err != nil && err != io.EOF && err != io.ErrUnexpectedEOF
}
