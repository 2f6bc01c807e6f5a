package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// seen is what the page of browser.mjs saw.
type seen struct {
	Failed  string
	Carried struct{ Unchanged, Removed, Left int }
	Refusal struct {
		Status     int
		Error      string
		ResetAt    float64 // Unix time, in seconds
		RetryAfter string  // the header
		Now        float64 // when the page read it
	}
}

// A page of another origin, in a browser that nobody here wrote, is a client of
// the relay, and reads why it is refused.
func TestBrowser(t *testing.T) {
	installClients(t)
	budget := []string{
		"HOLDMAIL_RATE_LIMIT=on",
		"ARCHON_DRAWBRIDGE_DIDCOMM_READ_PER_SOURCE=12",
		"ARCHON_DRAWBRIDGE_DIDCOMM_READ_GLOBAL=12", // carrying takes six
	}
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		visit(t, startRelay(t, budget...))
	})
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		ca := newAuthority(t)
		p := ca.issue(t)
		r := newRelay(t, append(budget, "HOLDMAIL_TLS_CERT="+p.Chain, "HOLDMAIL_TLS_KEY="+p.Key)...)
		r.overTLS(ca.pool(), "127.0.0.1")
		r.start(t)
		known := sha256.Sum256(p.leaf.RawSubjectPublicKeyInfo)
		visit(t, r, "--ignore-certificate-errors-spki-list="+base64.StdEncoding.EncodeToString(known[:]))
	})
}

// visit lets a browser open the page that uses r, and checks what it saw.
func visit(t *testing.T, r *relay, flags ...string) {
	t.Helper()
	results := make(chan seen, 9) // a page that fails may say so more than once
	pages := http.NewServeMux()
	pages.Handle("GET /", http.FileServer(http.Dir(".")))
	pages.HandleFunc("POST /result", func(_ http.ResponseWriter, q *http.Request) {
		var s seen
		if err := json.NewDecoder(q.Body).Decode(&s); err != nil {
			s.Failed = err.Error()
		}
		results <- s
	})
	origin := httptest.NewServer(pages)
	defer origin.Close()

	log := browse(t, origin.URL+"/browser.html?relay="+url.QueryEscape(r.URL+"/didcomm"), flags...)
	var s seen
	select {
	case s = <-results:
	case <-time.After(time.Minute):
		t.Fatalf("the page has no result after a minute\n%s\n%s", log, r.log)
	}
	if s.Failed != "" {
		t.Fatalf("in the page: %s\n%s\n%s", s.Failed, log, r.log)
	}
	t.Logf("%+v", s)
	if c := s.Carried; c.Unchanged != 3 || c.Removed != 3 || c.Left != 0 {
		t.Errorf("of three envelopes %d came back unchanged, %d were removed, %d are left", c.Unchanged, c.Removed, c.Left)
	}
	wait, err := strconv.Atoi(s.Refusal.RetryAfter)
	if s.Refusal.Status != http.StatusTooManyRequests || s.Refusal.Error == "" || err != nil || wait < 1 || wait > 60 {
		t.Errorf("the refusal is %+v, want a 429 with a reason and a Retry-After within the window", s.Refusal)
	}
	if until := s.Refusal.ResetAt - s.Refusal.Now; until < float64(wait)-5 || until > float64(wait)+2 {
		t.Errorf("resetAt is in %.1f s, Retry-After says %d", until, wait)
	}
}

// browse opens page in a headless browser of its own until the test ends.
func browse(t testing.TB, page string, flags ...string) *output {
	t.Helper()
	profile, err := os.MkdirTemp("", "holdmail-browser-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + profile,
	}, flags...)
	browser := exec.CommandContext(ctx, "chromium", append(args, page)...)
	log := &output{}
	browser.Stdout, browser.Stderr = log, log
	browser.Env = append(os.Environ(), "HOME="+profile)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) } // with its helpers
	if err := browser.Start(); err != nil {
		t.Fatalf("this test needs Chromium: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		_ = browser.Wait()        // killed
		_ = os.RemoveAll(profile) // a helper may still be at it
	})
	return log
}
