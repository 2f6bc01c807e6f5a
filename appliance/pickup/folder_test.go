package pickup_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/pickup"
)

const (
	anID    = "5a1c0000-0000-4000-8000-000000000001"
	otherID = "5a1c0000-0000-4000-8000-000000000002"
)

func openFolder(t testing.TB, path string, out io.Writer) *pickup.Folder {
	t.Helper()
	f, err := pickup.OpenFolder(path, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func put(s client.Shelf, id, envelope string) error {
	w, err := s.Begin()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, envelope); err != nil {
		return err
	}
	return s.Keep(client.Label{ID: id})
}

// files is what a folder holds: names and contents.
func files(t testing.TB, path string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		held[e.Name()] = string(b)
	}
	return held
}

func TestFolderKeepsEachMessageInItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "mail")
	var printed strings.Builder
	f := openFolder(t, path, &printed)
	for id, envelope := range map[string]string{anID: "one", otherID: ""} {
		if err := put(f, id, envelope); err != nil {
			t.Fatal(err)
		}
	}
	if printed.Len() > 0 {
		t.Errorf("printed %q before Sync", &printed)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{anID, otherID} {
		if strings.Count(printed.String(), filepath.Join(path, id)+"\n") != 1 {
			t.Errorf("printed %q, want the path of %s once", &printed, id)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if held := files(t, path); len(held) != 2 || held[anID] != "one" || held[otherID] != "" {
		t.Errorf("the folder holds %v", held)
	}
	for name, want := range map[string]os.FileMode{".": 0o700 | os.ModeDir, anID: 0o600} {
		if stat, err := os.Stat(filepath.Join(path, name)); err != nil || stat.Mode() != want {
			t.Errorf("%s is %v, %v; want %v", name, stat.Mode(), err, want)
		}
	}
}

func TestFolderLeavesNothingOfAMessageThatDidNotComeWhole(t *testing.T) {
	path := t.TempDir()
	// One pickup is killed, so that its half stays behind; the next is cut.
	if err := os.WriteFile(filepath.Join(path, ".incoming"), []byte("a long half of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, path, io.Discard)
	if err := put(f, anID, "whole"); err != nil {
		t.Fatal(err)
	}
	w, err := f.Begin()
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "half")
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if held := files(t, path); len(held) != 1 || held[anID] != "whole" {
		t.Errorf("the folder holds %v, want the whole one only", held)
	}
}

func TestFolderWritesNothingTwiceAndOverNothing(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, anID)
	long := strings.Repeat("x", 100_000)
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, path, io.Discard)
	if err := put(f, anID, long); err != nil {
		t.Errorf("the same bytes again: %v", err)
	}
	for _, other := range []string{"", long[1:], long + "x", long[1:] + "y"} {
		if err := put(f, anID, other); !errors.Is(err, pickup.ErrTaken) || !strings.Contains(err.Error(), file) {
			t.Errorf("%d other bytes: %v, want ErrTaken", len(other), err)
		}
	}
	after, err := os.Stat(file)
	if err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Errorf("the file was written: %v", err)
	}
}

func TestFolderTakesNoNameButAUUID(t *testing.T) {
	outside := t.TempDir()
	path := filepath.Join(outside, "mail")
	f := openFolder(t, path, io.Discard)
	for _, id := range []string{"", ".", "../x", "/etc/x", "x", ".incoming", strings.ReplaceAll(anID, "-", ""), "{" + anID + "}", "urn:uuid:" + anID, anID + "\x00", "../../../../../../../../../../../etc/x"} {
		if err := put(f, id, "m"); err == nil || errors.Is(err, pickup.ErrTaken) {
			t.Errorf("id %q: %v, want a refusal", id, err)
		}
	}
	if err := os.Symlink("../x", filepath.Join(path, anID)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := put(f, anID, "secret"); err == nil {
		t.Error("a link out of the folder was taken for a message")
	}
}

func TestFolderIsForOnePickupAtATime(t *testing.T) {
	path := t.TempDir()
	f := openFolder(t, path, io.Discard)
	if _, err := pickup.OpenFolder(path, io.Discard); !errors.Is(err, pickup.ErrBusy) {
		t.Errorf("a second one: %v, want ErrBusy", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	openFolder(t, path, io.Discard)
}
