package certificate

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	domain = "mail.example"
	life   = 90 * 24 * time.Hour
)

// board is a machine with a Keeper, whose clock may be wrong.
type board struct {
	folder string
	wrong  atomic.Int64 // nanoseconds that its clock is ahead of the true time
	down   atomic.Bool  // no order is answered
	orders atomic.Int32 // made so far
}

// boot starts a Keeper, in a synctest bubble. Its ACME server's clock is right.
func (b *board) boot(t testing.TB) (k *Keeper, stop func()) {
	t.Helper()
	k = OpenKeeper(Options{Domains: []string{domain}, Folder: b.folder, Log: slog.New(slog.DiscardHandler)})
	k.wall = func() time.Time { return time.Now().Add(time.Duration(b.wrong.Load())) }
	k.order = func(context.Context, string) ([]byte, error) {
		b.orders.Add(1)
		if b.down.Load() {
			return nil, errors.New("connection refused")
		}
		return newPair(t, domain, time.Now(), life), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { k.Keep(ctx); close(ended) }()
	synctest.Wait()
	return k, func() { cancel(); <-ended }
}

// pass lets time pass, and all that is to happen in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestACertificateIsOrderedOnceKeptAndRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{folder: filepath.Join(t.TempDir(), "acme")}
		k, stop := b.boot(t)
		first := serial(t, k.Certificate, domain)
		stop()
		if b.orders.Load() != 1 {
			t.Fatalf("%d orders, want 1", b.orders.Load())
		}
		b.down.Store(true)
		k, stop = b.boot(t)
		defer stop()
		if got := serial(t, k.Certificate, domain); got != first || b.orders.Load() != 1 {
			t.Errorf("after a restart: certificate %s after %d orders, want the kept %s", got, b.orders.Load(), first)
		}
		pass(life*2/3 - time.Minute)
		if got := serial(t, k.Certificate, domain); got != first || b.orders.Load() != 1 {
			t.Errorf("a minute before it is due: certificate %s after %d orders", got, b.orders.Load())
		}
		pass(24 * time.Hour)
		if got := serial(t, k.Certificate, domain); got != first || b.orders.Load() < 2 {
			t.Errorf("due, with the server down: certificate %s after %d orders, want the old one and attempts", got, b.orders.Load())
		}
		b.down.Store(false)
		pass(lastRetry)
		if got := serial(t, k.Certificate, domain); got == first {
			t.Error("it was not renewed once the server was back")
		}
	})
}

// A certificate is served whatever the clock says, and renewed when the clock is
// right and it is due.
func TestAWrongClockTakesNoCertificateAway(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wrong time.Duration
		down  bool // strangers' certificates look invalid too when the clock is wrong
	}{
		{"1970", -30 * 365 * 24 * time.Hour, true},
		{"where it stood when the power went", -100 * 24 * time.Hour, true},
		{"far ahead", 30 * 365 * 24 * time.Hour, true},
		{"far ahead, and nobody minds", 30 * 365 * 24 * time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &board{folder: filepath.Join(t.TempDir(), "acme")}
				k, stop := b.boot(t)
				first := serial(t, k.Certificate, domain)
				stop()
				pass(life) // the power was off
				b.wrong.Store(int64(tt.wrong))
				b.down.Store(tt.down)
				k, stop = b.boot(t)
				defer stop()
				if got := serial(t, k.Certificate, domain); tt.down && got != first {
					t.Errorf("certificate %s, want the kept %s", got, first)
				}
				pass(6 * time.Hour)
				if b.orders.Load() > 13 { // at most five in an hour while the wait doubles, then one
					t.Errorf("%d orders in six hours with a wrong clock", b.orders.Load())
				}
				b.wrong.Store(0)
				b.down.Store(false)
				pass(lastRetry)
				if got := serial(t, k.Certificate, domain); got == first {
					t.Error("it was not renewed once the clock was right")
				}
				orders := b.orders.Load()
				pass(life / 2)
				if b.orders.Load() != orders {
					t.Errorf("%d orders more while the certificate is good", b.orders.Load()-orders)
				}
			})
		})
	}
}

func TestWhoGetsWhichCertificate(t *testing.T) {
	dir := folder(t.TempDir())
	texts := map[string][]byte{}
	for _, d := range []string{domain, "other.example"} {
		texts[d] = newPair(t, d, time.Now(), life)
		if err := dir.keepPair(d, texts[d]); err != nil {
			t.Fatal(err)
		}
	}
	k := OpenKeeper(Options{Domains: []string{domain, "other.example"}, Folder: string(dir), Log: slog.New(slog.DiscardHandler)})
	for asked, want := range map[string]string{
		domain: domain, "MAIL.example.": domain, "other.example": "other.example",
		"": domain, "stranger.example": domain,
	} {
		if got := serial(t, k.Certificate, asked); got != serialOf(t, texts[want]) {
			t.Errorf("%q gets %s, want that of %s", asked, got, want)
		}
	}
	if _, err := k.Certificate(&tls.ClientHelloInfo{ServerName: domain, SupportedProtos: k.Protocols()}); !errors.Is(err, ErrNone) {
		t.Errorf("a challenge that nobody expects: %v, want ErrNone", err)
	}
}

func TestWhatCannotBeReadIsAsGoodAsNone(t *testing.T) {
	dir := folder(t.TempDir())
	for name, text := range map[string][]byte{
		"empty": nil, "half": newPair(t, domain, time.Now(), life)[:300], "another's": newPair(t, "other.example", time.Now(), life),
	} {
		if err := dir.keepPair(domain, text); err != nil {
			t.Fatal(err)
		}
		k := OpenKeeper(Options{Domains: []string{domain}, Folder: string(dir), Log: slog.New(slog.DiscardHandler)})
		if got := serial(t, k.Certificate, domain); got != ErrNone.Error() {
			t.Errorf("%s: certificate %s, want none", name, got)
		}
	}
}

func TestTheFolderIsItsOwnersAlone(t *testing.T) {
	dir := folder(filepath.Join(t.TempDir(), "data", "acme"))
	first, err := dir.account()
	if err != nil {
		t.Fatal(err)
	}
	again, err := dir.account()
	if err != nil || !again.Public().(interface{ Equal(x crypto.PublicKey) bool }).Equal(first.Public()) {
		t.Errorf("the account is another one the second time (%v)", err)
	}
	for file, want := range map[string]os.FileMode{"": 0o700, "account.key": 0o600} {
		stat, err := os.Stat(dir.file(file))
		if err != nil || stat.Mode().Perm() != want {
			t.Errorf("%q has mode %v (%v), want %v", file, stat.Mode().Perm(), err, want)
		}
	}
	left, err := os.ReadDir(string(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want the account alone", left, err)
	}
}
