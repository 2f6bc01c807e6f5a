// Package torrc writes the relay's onion service into Tor's configuration.
//
// It works on text alone: it knows no file and runs no Tor. It takes charge of
// one block between two marks, and keeps every other byte as it is.
package torrc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// The marks of the block. A line is one of them whatever space surrounds it.
const (
	begin = `# holdmail: begin. "holdmail tor --write" writes all down to the end mark.`
	end   = `# holdmail: end`
)

var (
	// ErrMarks: the marks do not stand as a pair, so that it is not known what is
	// the block.
	ErrMarks = errors.New("the torrc has one mark of holdmail's block without the other, or several: remove those lines by hand")
	// ErrTaken: the folder is that of a service which somebody else wrote down.
	ErrTaken = errors.New("the torrc has a service in that folder already: remove its lines, or name another folder")
	// ErrContinued: what is put at the end would belong to the line before.
	ErrContinued = errors.New("the last line of the torrc ends with a backslash: complete it first")
)

// Service is the relay's onion service.
type Service struct {
	Dir      string // where Tor keeps its key and its name
	Target   string // where Tor brings callers: a socket's path, or host:port
	Circuits bool   // tell the relay by which circuit each caller comes
}

// Lines are what a torrc says of the service.
func (s Service) Lines() string {
	target := s.Target
	if filepath.IsAbs(target) {
		target = "unix:" + target
	}
	lines := "HiddenServiceDir " + s.Dir + "\nHiddenServicePort 80 " + target + "\n"
	if s.Circuits {
		lines += "HiddenServiceExportCircuitID haproxy\n"
	}
	return lines
}

// valid refuses what would mean something else to Tor.
func (s Service) valid() error {
	for _, text := range []string{s.Dir, s.Target} {
		if text == "" || strings.ContainsFunc(text, special) {
			return fmt.Errorf("%q cannot stand in a torrc: want a path without spaces, quotes, # and \\", text)
		}
	}
	return nil
}

func special(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"'#\`, r) }

// Merge returns text with the block for s in it: in the place of the one that is
// there, else at the end. What it has merged it merges again to the same text.
func Merge(text string, s Service) (string, error) {
	if err := s.valid(); err != nil {
		return "", err
	}
	before, after, err := around(text)
	if err != nil {
		return "", err
	}
	if taken(before+after, s.Dir) {
		return "", ErrTaken
	}
	if strings.HasSuffix(strings.TrimRight(before, "\r\n"), `\`) {
		return "", ErrContinued
	}
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + begin + "\n" + s.Lines() + end + "\n" + after, nil
}

// around is what stands before the block and after it; all is before, if there is
// none.
func around(text string) (before, after string, err error) {
	from, to, at, marks := 0, 0, 0, ""
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case begin:
			from, marks = at, marks+"b"
		case end:
			to, marks = at+len(line), marks+"e"
		}
		at += len(line)
	}
	switch marks {
	case "":
		return text, "", nil
	case "be":
		return text[:from], text[to:], nil
	default:
		return "", "", ErrMarks
	}
}

// taken reports whether a torrc has a service in dir.
func taken(text, dir string) bool {
	for line := range strings.Lines(text) {
		if of, ok := value(line, "HiddenServiceDir"); ok && filepath.Clean(of) == filepath.Clean(dir) {
			return true
		}
	}
	return false
}

// User is whom the torrc lets Tor run as; "" if it does not say.
func User(text string) (user string) {
	for line := range strings.Lines(text) {
		if v, ok := value(line, "User"); ok {
			user = v
		}
	}
	return user
}

// value is that of a line that sets an option, whose name may be in any case.
func value(line, option string) (string, bool) {
	line, _, _ = strings.Cut(line, "#")
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.EqualFold(fields[0], option) {
		return "", false
	}
	return strings.Trim(strings.Join(fields[1:], " "), `"`), true
}

// LogFile is where the torrc lets Tor log to; "" if that is no file.
func LogFile(text string) (path string) {
	for line := range strings.Lines(text) {
		if v, ok := value(line, "Log"); ok {
			if _, file, ok := strings.Cut(v, "file "); ok {
				path = file
			}
		}
	}
	return path
}
