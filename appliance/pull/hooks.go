package pull

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxDeadline is the longest that a sender can wait for an answer.
const MaxDeadline = 9 * time.Second

const maxHooks = 10_000

// Hook is an address that webhooks are sent to.
type Hook struct {
	ID       string        // whoever knows it may send
	Name     string        // what the owner calls it; the id if nothing
	Deadline time.Duration // how long its senders wait for an answer; 0 is the relay's own
}

// NewHook makes a hook whose id nobody guesses.
func NewHook(name string) Hook {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return Hook{ID: base64.RawURLEncoding.EncodeToString(id), Name: name}
}

// hash names the hook to the relay, which is never told the id.
func (h Hook) hash() string {
	sum := sha256.Sum256([]byte(h.ID))
	return hex.EncodeToString(sum[:])
}

// Line is the hook as ParseHooks reads it.
func (h Hook) Line() string {
	line := h.ID
	if h.Name != h.ID {
		line = h.Name + " " + line
	}
	if h.Deadline > 0 {
		line += " deadline=" + h.Deadline.String()
	}
	return line
}

var (
	hookID   = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)
	hookName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._~-]{0,63}$`) // never . or ..
)

// CheckHookName returns an error for what cannot be a hook's name.
func CheckHookName(name string) error {
	if !hookName.MatchString(name) {
		return fmt.Errorf("%.70q is no name for a hook: want up to 64 letters, digits, and - . _ ~", name)
	}
	return nil
}

// ParseHooks reads one hook a line: an id, or a name and an id, and after them, if
// its senders are impatient, deadline=3s. Empty lines are passed over, and those
// that start with #.
func ParseHooks(r io.Reader) (hooks []Hook, err error) {
	lines, ids, names := bufio.NewScanner(r), map[string]bool{}, map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		h, err := parseHook(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if ids[h.ID] || names[h.Name] {
			return nil, fmt.Errorf("line %d: its name or id is that of a line above", n)
		}
		ids[h.ID], names[h.Name] = true, true
		if hooks = append(hooks, h); len(hooks) > maxHooks {
			return nil, fmt.Errorf("more than %d hooks", maxHooks)
		}
	}
	return hooks, lines.Err()
}

func parseHook(words []string) (h Hook, err error) {
	if text, is := strings.CutPrefix(words[len(words)-1], "deadline="); is {
		h.Deadline, err = time.ParseDuration(text)
		if err != nil || h.Deadline <= 0 || h.Deadline > MaxDeadline {
			return h, fmt.Errorf("deadline=%.20q: want more than 0s and at most %v", text, MaxDeadline)
		}
		words = words[:len(words)-1]
	}
	if len(words) < 1 || len(words) > 2 {
		return h, errors.New("want an id, or a name and an id, and maybe deadline=3s")
	}
	h.Name, h.ID = words[0], words[len(words)-1]
	if !hookID.MatchString(h.ID) || strings.Trim(h.ID, ".") == "" {
		return h, errors.New("an id has up to 256 letters, digits, and - . _ ~")
	}
	if len(words) == 2 {
		return h, CheckHookName(h.Name)
	}
	return h, nil
}

// readHooks asks for the hooks, and has them registered if they changed. One that is
// missing may be back in a moment: an editor empties a file before it writes it.
func (p *Pull) readHooks() error {
	hooks, err := p.Hooks()
	if err != nil || p.served != nil && slices.Equal(hooks, p.hooks) {
		return err
	}
	p.hooks, p.linked, p.changed = hooks, false, p.Now()
	p.served = make(map[string]Hook, len(hooks))
	for _, h := range hooks {
		p.served[h.hash()] = h
	}
	return nil
}

// readHooksAgain serves those known before on if they cannot be read, and says so once.
func (p *Pull) readHooksAgain() {
	err := p.readHooks()
	if err == nil {
		p.unread = ""
		return
	}
	if p.unread != err.Error() {
		p.Log.Warn("the hooks cannot be read; those known before are served on", "err", err)
	}
	p.unread = err.Error()
}
