package didcomm

import "bufio"

const hex = "0123456789abcdef"

// writeEscaped writes text, which is UTF-8 or a part of such, as the inside of a
// JSON string. It escapes what RFC 8259 §7 requires, all of which are single
// bytes, so it does not matter where a text is cut into parts.
func writeEscaped(out *bufio.Writer, text []byte) error {
	clean := 0 // where the bytes begin that need no escape
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out.Write(text[clean:i])
		clean = i + 1
		switch c {
		case '"', '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case '\n':
			out.WriteString(`\n`)
		default:
			out.WriteString(`\u00`)
			out.WriteByte(hex[c>>4])
			out.WriteByte(hex[c&0xf])
		}
	}
	_, err := out.Write(text[clean:]) // the first error of all these writes
	return err
}
