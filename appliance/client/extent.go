package client

// extent finds where a JSON value ends, byte by byte. What is no JSON has an end
// somewhere, too.
type extent struct {
	depth   int  // of brackets
	quoted  bool // within a string
	escaped bool // after a backslash in one
	begun   bool // there was a byte
}

// endsBefore says whether b, the next byte, is no more part of the value. So
// ends what has no end of its own: a number, true, false, null.
func (e *extent) endsBefore(b byte) bool {
	if e.depth > 0 || e.quoted {
		return false
	}
	return b == ',' || b == ':' || b == ']' || b == '}' || e.begun && space(b)
}

// endsWith takes b, the next byte, and says whether it is the value's last one.
func (e *extent) endsWith(b byte) bool {
	e.begun = true
	switch {
	case e.escaped:
		e.escaped = false
		return false
	case e.quoted && b == '\\':
		e.escaped = true
		return false
	case b == '"':
		e.quoted = !e.quoted
		return !e.quoted && e.depth == 0
	case e.quoted:
		return false
	case b == '{' || b == '[':
		e.depth++
		return false
	case b == '}' || b == ']':
		e.depth--
		return e.depth == 0
	default:
		return false
	}
}
