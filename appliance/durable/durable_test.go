package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdmail/holdmail/appliance/durable"
)

func TestFolderIsMadeWithThoseItStandsIn(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "c")
	for range 2 { // the second time it is there
		if err := durable.MakeFolder(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"a", "a/b", "a/b/c"} {
		if stat, err := os.Stat(filepath.Join(root, folder)); err != nil || stat.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s is %v, %v; want drwx------", folder, stat.Mode(), err)
		}
	}
}

func TestFolderByItsNameAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a", "b/c", ".", "/", "./d/"} {
		if err := durable.MakeFolder(path); err != nil {
			t.Errorf("MakeFolder(%q): %v", path, err)
		}
	}
}

func TestFolderIsNotMadeWhereAFileIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.MakeFolder(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("MakeFolder of a file: %v, want fs.ErrExist", err)
	}
	if err := durable.MakeFolder(filepath.Join(file, "a")); err == nil {
		t.Error("MakeFolder under a file made one")
	}
}

func TestSyncNamesWantsAFolder(t *testing.T) {
	if err := durable.SyncNames(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := durable.SyncNames(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SyncNames of nowhere: %v, want fs.ErrNotExist", err)
	}
}

func TestFolderWhereNoneCanBeMadeIsRefused(t *testing.T) {
	for range 2 {
		if err := durable.MakeFolder("/proc/holdmail/mail"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("MakeFolder in /proc: %v, want fs.ErrNotExist", err)
		}
	}
}
