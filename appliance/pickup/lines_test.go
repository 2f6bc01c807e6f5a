package pickup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdmail/holdmail/appliance/client"
	"github.com/holdmail/holdmail/appliance/pickup"
)

func TestLineForEachMessageThatCameWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	l := &pickup.Lines{Out: out}
	if err := put(l, "a", `{"x":"<&>"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(); err != nil { // and no more of this one
		t.Fatal(err)
	}
	w, err := l.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("\n"))
	if err := l.Keep(client.Label{ID: "b", Received: time.UnixMilli(1767225600123).UTC()}); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	const want = `{"id":"a","message":"{\"x\":\"<&>\"}"}` + "\n" + `{"id":"b","message":"\n","received":"2026-01-01T00:00:00.123Z"}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("wrote %s, %v; want %s", got, err, want)
	}
}

func TestLinesIntoAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	l := &pickup.Lines{Out: w}
	if err := put(l, "a", "m"); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Errorf("Sync of a pipe: %v", err)
	}
}
