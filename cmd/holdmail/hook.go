package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdmail/holdmail/appliance/durable"
	"github.com/holdmail/holdmail/appliance/pull"
)

// hookCommands are what can be done with the addresses of webhooks.
type hookCommands struct {
	New  hookNew  `cmd:"" help:"Make an address that nobody guesses, and print it."`
	List hookList `cmd:"" help:"Print the addresses."`
}

// hookNew makes an address.
type hookNew struct {
	Name     string        `arg:"" help:"What you call it, such as github: it stands for {hook} in pull --to."`
	Hooks    string        `placeholder:"FILE" env:"HOLDMAIL_PULL_HOOKS" help:"The file of hooks; else ~/.config/holdmail/hooks."`
	Relay    string        `placeholder:"URL" env:"HOLDMAIL_PULL_RELAY" help:"The relay's URL, to print the whole address."`
	Deadline time.Duration `placeholder:"3s" help:"How long its senders wait for an answer, up to 9s; else the relay's own limit."`
}

// Run prints the address once it is in the file, and on the disk.
func (n hookNew) Run() error {
	if err := pull.CheckHookName(n.Name); err != nil {
		return err
	}
	if n.Deadline < 0 || n.Deadline > pull.MaxDeadline {
		return fmt.Errorf("--deadline: want more than 0s and at most %v", pull.MaxDeadline)
	}
	path, err := hooksFile(n.Hooks)
	if err != nil {
		return err
	}
	if n.Hooks == "" {
		if err := durable.MakeFolder(filepath.Dir(path)); err != nil {
			return err
		}
	}
	known, err := readHooks(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, h := range known {
		if h.Name == n.Name {
			return fmt.Errorf("%s has a hook %s already; holdmail hook list prints it", path, n.Name)
		}
	}
	h := pull.NewHook(n.Name)
	h.Deadline = n.Deadline
	if err := appendLine(path, h.Line()); err != nil {
		return err
	}
	_, err = fmt.Println(hookAddress(n.Relay, h))
	return err
}

// hookList prints addresses.
type hookList struct {
	Hooks string `placeholder:"FILE" env:"HOLDMAIL_PULL_HOOKS" help:"The file of hooks; else ~/.config/holdmail/hooks."`
	Relay string `placeholder:"URL" env:"HOLDMAIL_PULL_RELAY" help:"The relay's URL, to print whole addresses."`
}

// Run prints a line for each: its name, and where to send to.
func (l hookList) Run() error {
	path, err := hooksFile(l.Hooks)
	if err != nil {
		return err
	}
	hooks, err := readHooks(path)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if _, err := fmt.Println(h.Name, hookAddress(l.Relay, h)); err != nil {
			return err
		}
	}
	return nil
}

// hookAddress is where senders send to, as far as the relay is known.
func hookAddress(relay string, h pull.Hook) string {
	return strings.TrimRight(relay, "/") + "/hooks/" + h.ID
}

// hooksFile is path, or if that is empty the usual one.
func hooksFile(path string) (string, error) { return usualFile(path, "hooks") }

// readHooks reads a file of hooks.
func readHooks(path string) ([]pull.Hook, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: holdmail hook new makes it", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hooks, err := pull.ParseHooks(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return hooks, nil
}

// appendLine adds a line to a file, which is its owner's alone if it is new. Who
// knows an id may send to it.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	before, err := missingEnd(f)
	if err == nil {
		_, err = f.WriteString(before + line + "\n")
	}
	return errors.Join(err, f.Sync(), f.Close(), durable.SyncNames(filepath.Dir(path)))
}

// missingEnd is the end of the last line if an editor left it out.
func missingEnd(f *os.File) (string, error) {
	stat, err := f.Stat()
	if err != nil || stat.Size() == 0 {
		return "", err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, stat.Size()-1); err != nil || last[0] == '\n' {
		return "", err
	}
	return "\n", nil
}
