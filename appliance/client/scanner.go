package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	scanBuffer = 32 << 10
	maxValue   = 64 << 10 // bytes of a value that is not passed on as it comes
)

var errSyntax = fmt.Errorf("%w: it is not JSON", errNoAnswer)

// errCut is the end of an answer where more was to come.
var errCut error = outage{errors.New("the answer broke off")}

// scanner reads JSON as it comes. Other decoders hold a string as a whole before
// they give any of it, and those of an answer have the size of envelopes.
type scanner struct {
	in  *bufio.Reader
	out *bufio.Writer // in front of whatever takes a text
}

func newScanner(r io.Reader) scanner {
	return scanner{in: bufio.NewReaderSize(r, scanBuffer), out: bufio.NewWriterSize(nil, scanBuffer)}
}

// members reads an object. It calls member after each name, to read its value.
func (s *scanner) members(member func(name string) error) error {
	return s.list('{', '}', func() error {
		raw, err := s.value()
		if err != nil {
			return err
		}
		var name *string
		if err := json.Unmarshal(raw, &name); err != nil || name == nil {
			return errSyntax
		}
		if b, err := s.next(); err != nil || b != ':' {
			return syntax(err)
		}
		return member(*name)
	})
}

// items reads an array. It calls item to read each item.
func (s *scanner) items(item func() error) error { return s.list('[', ']', item) }

// list reads what stands between first and last, with commas between.
func (s *scanner) list(first, last byte, item func() error) error {
	if b, err := s.next(); err != nil || b != first {
		return syntax(err)
	}
	b, err := s.next()
	if err != nil || b == last {
		return err
	}
	s.in.UnreadByte() // never fails after a read
	for {
		if err := item(); err != nil {
			return err
		}
		b, err := s.next()
		switch {
		case err != nil || b == last:
			return err
		case b != ',':
			return errSyntax
		}
	}
}

// end passes white space and wants nothing after it.
func (s *scanner) end() error {
	switch _, err := s.next(); err {
	case nil:
		return errSyntax
	case errCut:
		return nil
	default:
		return err
	}
}

// next returns the next byte that is not white space.
func (s *scanner) next() (byte, error) {
	for {
		if b, err := s.byte(); err != nil || !space(b) {
			return b, err
		}
	}
}

// byte returns the next byte. The end of the answer is errCut.
func (s *scanner) byte() (byte, error) {
	b, err := s.in.ReadByte()
	return b, unexpected(err)
}

// value returns one value as it is written, of at most maxValue bytes.
func (s *scanner) value() ([]byte, error) {
	b, err := s.next()
	if err != nil {
		return nil, err
	}
	var e extent
	for raw := []byte(nil); ; {
		if e.endsBefore(b) {
			s.in.UnreadByte() // never fails after a read
			return valid(raw)
		}
		if raw = append(raw, b); len(raw) > maxValue {
			return nil, fmt.Errorf("%w: a value in it has more than %d bytes", errNoAnswer, maxValue)
		}
		if e.endsWith(b) {
			return valid(raw)
		}
		if b, err = s.byte(); err != nil {
			return nil, err
		}
	}
}

func valid(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errSyntax
	}
	return raw, nil
}

func space(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// syntax is the error of a byte that is not the right one, unless there was none.
func syntax(err error) error {
	if err != nil {
		return err
	}
	return errSyntax
}

// unexpected is err where more was to come.
func unexpected(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}
