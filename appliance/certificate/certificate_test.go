package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newPair is a self-made pair for domain, as one PEM text.
func newPair(t testing.TB, domain string, from time.Time, life time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, DNSNames: []string{domain}, NotBefore: from, NotAfter: from.Add(life)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pairPEM(key, [][]byte{der})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// serial says which certificate a handshake for domain gets.
func serial(t testing.TB, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), domain string) string {
	t.Helper()
	pair, err := certificate(&tls.ClientHelloInfo{ServerName: domain})
	if err != nil {
		return err.Error()
	}
	return pair.Leaf.SerialNumber.String()
}

// serialOf is the serial of the certificate in text.
func serialOf(t testing.TB, text []byte) string {
	t.Helper()
	pair, err := parse(text, text)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.String()
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pair.pem")
		log := &bytes.Buffer{}
		first := newPair(t, "a.example", time.Now(), time.Hour)
		replace(t, file, first)
		f, err := OpenFiles(file, file, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		second := newPair(t, "a.example", time.Now(), time.Hour)
		for _, tt := range []struct {
			name     string
			text     []byte
			later    time.Duration
			want     []byte
			warnings int // so far
		}{
			{"unchanged", first, lookEvery, first, 0},
			{"broken", second[:len(second)/2], lookEvery, first, 1},
			{"still broken", nil, lookEvery, first, 1},
			{"changed, but just looked", second, lookEvery / 2, first, 1},
			{"changed", nil, lookEvery, second, 1},
		} {
			if tt.text != nil {
				replace(t, file, tt.text)
			}
			time.Sleep(tt.later)
			if got := serial(t, f.Certificate, ""); got != serialOf(t, tt.want) {
				t.Errorf("%s: certificate %s, want %s", tt.name, got, serialOf(t, tt.want))
			}
			if got := strings.Count(log.String(), "level=WARN"); got != tt.warnings {
				t.Errorf("%s: %d warnings so far, want %d:\n%s", tt.name, got, tt.warnings, log)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		if got := serial(t, f.Certificate, ""); got != serialOf(t, second) {
			t.Errorf("without files: certificate %s, want the last one", got)
		}
	})
}

// Who renews may let us read the files only later, which changes neither their time
// nor their size.
func TestFilesThatCannotBeReadAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pair.pem")
		log := &bytes.Buffer{}
		first := newPair(t, "a.example", time.Now(), time.Hour)
		replace(t, file, first)
		f, err := OpenFiles(file, file, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		second := newPair(t, "a.example", time.Now(), time.Hour)
		replace(t, file, second)
		tries := 0
		for _, tt := range []struct {
			name            string
			fails           error // of reading
			later           time.Duration
			want            []byte
			tries, warnings int // so far
		}{
			{"unreadable", fs.ErrPermission, lookEvery, first, 1, 1},
			{"unreadable, but just looked", fs.ErrPermission, lookEvery / 2, first, 1, 1},
			{"still unreadable", fs.ErrPermission, lookEvery / 2, first, 2, 1},
			{"unreadable for another cause", fs.ErrInvalid, lookEvery, first, 3, 2},
			{"readable", nil, lookEvery, second, 5, 2}, // both files
			{"unchanged", nil, lookEvery, second, 5, 2},
		} {
			f.readFile = func(file string) ([]byte, error) {
				tries++
				if tt.fails != nil {
					return nil, tt.fails
				}
				return os.ReadFile(file)
			}
			time.Sleep(tt.later)
			for range 2 {
				if got := serial(t, f.Certificate, ""); got != serialOf(t, tt.want) {
					t.Errorf("%s: certificate %s, want %s", tt.name, got, serialOf(t, tt.want))
				}
			}
			if tries != tt.tries {
				t.Errorf("%s: tried %d times so far, want %d", tt.name, tries, tt.tries)
			}
			if got := strings.Count(log.String(), "level=WARN"); got != tt.warnings {
				t.Errorf("%s: %d warnings so far, want %d:\n%s", tt.name, got, tt.warnings, log)
			}
		}
	})
}

func TestFilesOfTheSameTimeAndSizeAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pair.pem")
		then := time.Unix(1_700_000_000, 0)
		// put replaces the pair by another of the same size and time.
		put := func() []byte {
			text := newPair(t, "a.example", time.Now(), time.Hour)
			text = append(text, bytes.Repeat([]byte("\n"), 4096-len(text))...)
			replace(t, file, text)
			if err := os.Chtimes(file, then, then); err != nil {
				t.Fatal(err)
			}
			return text
		}
		put()
		f, err := OpenFiles(file, file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		want := put()
		time.Sleep(lookEvery)
		if got := serial(t, f.Certificate, ""); got != serialOf(t, want) {
			t.Errorf("certificate %s, want %s", got, serialOf(t, want))
		}
	})
}

func TestFilesThatHoldNoPairAreRefused(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	replace(t, a, newPair(t, "a.example", time.Now(), time.Hour))
	replace(t, b, newPair(t, "a.example", time.Now(), time.Hour))
	for _, tt := range []struct{ name, chain, key string }{
		{"another's key", a, b},
		{"no key", a, filepath.Join(dir, "none")},
		{"no certificate", filepath.Join(dir, "none"), a},
	} {
		if _, err := OpenFiles(tt.chain, tt.key, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: opened, want an error", tt.name)
		}
	}
}

// replace puts a file in place at once, as those who renew certificates do.
func replace(t testing.TB, file string, text []byte) {
	t.Helper()
	draft := file + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(draft, file); err != nil {
		t.Fatal(err)
	}
}
