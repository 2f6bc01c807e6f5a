package torhost

import "strings"

// SetVariable returns the text of a file of NAME=value lines in which name has the
// value: on its last line of that name, since the last one counts, else on a new
// one. All other lines stay as they are.
func SetVariable(text, name, value string) string {
	lines, at := strings.SplitAfter(text, "\n"), -1
	for i, line := range lines {
		if key, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == name {
			at = i
		}
	}
	set := name + "=" + value + "\n"
	if at >= 0 {
		lines[at] = set
		return strings.Join(lines, "")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + set
}

// Variables are the assignments of such a file, as os.Environ gives them.
// Quotes around a value are not part of it.
func Variables(text string) (environ []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		environ = append(environ, strings.TrimSpace(key)+"="+value)
	}
	return environ
}
