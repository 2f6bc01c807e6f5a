package systemd_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/holdmail/holdmail/systemd"
)

func TestTheServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)

	for _, tt := range []struct {
		say  func() error
		want string
	}{
		{systemd.Ready, "READY=1"},
		{systemd.Stopping, "STOPPING=1"},
		{func() error { return systemd.Status("all\nwell") }, "STATUS=all well"},
	} {
		if err := tt.say(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 64)
		n, err := socket.Read(got)
		if err != nil || string(got[:n]) != tt.want {
			t.Errorf("the manager was told %q, %v; want %q", got[:n], err, tt.want)
		}
	}
}

func TestWithoutAServiceManagerThereIsNothingToTell(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := systemd.Ready(); err != nil {
		t.Errorf("Ready = %v, want nil", err)
	}
}

func TestAManagerThatIsGoneIsAnError(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	if err := systemd.Ready(); err == nil {
		t.Error("Ready = nil, want an error")
	}
}
