package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk lets someone else fill the disk to its last byte. Deposits are
// refused, nothing acknowledged is lost, and acknowledging goes on working: it
// never needs room that anybody else could take.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts small filesystems and needs root")
	}
	for _, disk := range []struct {
		name  string
		mount func(t testing.TB) string
	}{
		{"ext4", mountExt4},
		{"tmpfs", mountTmpfs},
	} {
		t.Run(disk.name, func(t *testing.T) {
			t.Parallel()
			fullDisk(t, disk.mount(t))
		})
	}
}

func fullDisk(t *testing.T, mount string) {
	c := newCrowd(t, mount, "HOLDMAIL_DISK_FLOOR=0")
	filler := filepath.Join(mount, "someone else's")
	for range 1_200 {
		c.mustDeposit(t, 800)
	}
	for range 20 {
		c.mustDeposit(t, 256<<10)
	}
	fill(t, filler)
	c.depositUntilRefused(t, 64<<10)
	c.depositUntilRefused(t, 800)
	c.mustSayWhy(t)

	for range 5 {
		c.acknowledge(t, 100)
		fill(t, filler)
		c.depositUntilRefused(t, 800) // takes again whatever deposits may take
	}
	c.relay.kill(t)
	c.relay.launch(t)
	enough := c.pester(t)
	for range 5 {
		c.acknowledge(t, 100)
		fill(t, filler)
	}
	enough()
	challenge(t, c.relay) // a live one, to be kept on a full disk
	c.relay.stop(t)
	c.relay.launch(t)
	held := c.audit(t)
	c.acknowledgeAtOnce(t, c.wallets[0], held)
	c.audit(t)

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.relay.await(t, http.StatusOK)
	c.mustDeposit(t, 800)
	c.mustDeposit(t, 256<<10)
	c.audit(t)
	c.relay.stop(t)
	checkFile(t, c.relay, c.ledger)
}

// TestDiskFloor: deposits leave alone what the operator keeps for others.
func TestDiskFloor(t *testing.T) {
	t.Parallel()
	mount := mountTmpfs(t)
	c := newCrowd(t, mount, "HOLDMAIL_DISK_FLOOR=32mb")
	filler := filepath.Join(mount, "someone else's")
	if err := os.WriteFile(filler, make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c.depositUntilRefused(t, 64<<10)
	c.depositUntilRefused(t, 800)
	c.mustSayWhy(t)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(mount, &disk); err != nil {
		t.Fatal(err)
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < 32<<20 {
		t.Errorf("deposits left %d bytes free, want at least 32 MiB", free)
	}
	c.acknowledge(t, 10)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	c.relay.await(t, http.StatusOK)
	c.mustDeposit(t, 256<<10)
	c.audit(t)
}
