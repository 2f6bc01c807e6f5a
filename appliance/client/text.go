package client

import (
	"encoding/hex"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and writes what it stands for to w as it comes. It must
// stand for UTF-8: no envelope is anything else (relay spec §2.2).
func (s *scanner) text(w io.Writer) error {
	if b, err := s.next(); err != nil || b != '"' {
		return syntax(err)
	}
	s.out.Reset(w)
	for {
		c, end, err := s.character()
		if err != nil {
			return err
		}
		if end {
			return s.out.Flush()
		}
		if _, err := s.out.WriteRune(c); err != nil {
			return err
		}
	}
}

// character reads one character of a string, or its end.
func (s *scanner) character() (c rune, end bool, err error) {
	c, size, err := s.in.ReadRune()
	switch {
	case err != nil:
		return 0, false, unexpected(err)
	case c == '"':
		return 0, true, nil
	case c == '\\':
		c, err = s.escape()
		return c, false, err
	case c < ' ' || c == utf8.RuneError && size == 1:
		return 0, false, errSyntax
	default:
		return c, false, nil
	}
}

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, error) {
	b, err := s.byte()
	if err != nil {
		return 0, err
	}
	switch b {
	case '"', '\\', '/':
		return rune(b), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return s.codePoint()
	default:
		return 0, errSyntax
	}
}

// codePoint reads what follows \u: one unit of UTF-16, or a pair of them.
func (s *scanner) codePoint() (rune, error) {
	first, err := s.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	for _, want := range []byte(`\u`) {
		if b, err := s.byte(); err != nil || b != want {
			return 0, syntax(err)
		}
	}
	second, err := s.unit()
	if err != nil {
		return 0, err
	}
	if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
		return pair, nil
	}
	return 0, errSyntax
}

// unit reads four hex digits.
func (s *scanner) unit() (rune, error) {
	var digits [4]byte
	if _, err := io.ReadFull(s.in, digits[:]); err != nil {
		return 0, unexpected(err)
	}
	var b [2]byte
	if _, err := hex.Decode(b[:], digits[:]); err != nil {
		return 0, errSyntax
	}
	return rune(b[0])<<8 | rune(b[1]), nil
}
