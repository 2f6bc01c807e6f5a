package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fill appends to the file at path until not one byte more fits on its disk.
func fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 1<<20)
	for wrote := true; wrote; {
		wrote = false
		for size := len(zeros); size > 0; size /= 16 {
			n, err := 1, error(nil)
			for err == nil {
				n, err = f.Write(zeros[:size])
				wrote = wrote || n > 0
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil { // may give back what was only reserved
			t.Fatal(err)
		}
	}
}

// mountExt4 returns the folder of a 96 MiB ext4 of its own, without the share
// that is otherwise kept for root.
func mountExt4(t testing.TB) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 96<<20); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", "-m", "0", image)
	return mount(t, "-o", "loop", image)
}

// mountTmpfs returns the folder of a 64 MiB tmpfs of its own.
func mountTmpfs(t testing.TB) string {
	t.Helper()
	return mount(t, "-t", "tmpfs", "-o", "size=64m", "tmpfs")
}

// mount mounts what args say until the test ends.
func mount(t testing.TB, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	command(t, "mount", append(args, dir)...)
	t.Cleanup(func() { command(t, "umount", dir) })
	return dir
}

func command(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
