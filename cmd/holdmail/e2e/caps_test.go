package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// TestAcknowledgingMakesRoom fills a relay to each of its caps: what does not
// fit is refused with 429, one acknowledgement works there too, and frees at
// once exactly what it should.
func TestAcknowledgingMakesRoom(t *testing.T) {
	t.Parallel()
	const small = "ARCHON_DIDCOMM_UPLOAD_LIMIT=8kb"
	for _, engine := range []string{"bolt", "memory"} {
		for _, tt := range []struct {
			name    string
			env     []string
			full    int  // deposits of 4 KiB that fit
			spread  bool // over two mailboxes
			inBytes bool // the cap counts bytes
		}{
			{"bytes of a mailbox", []string{small, "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=32768"}, 8, false, true},
			{"bytes in all", []string{small, "ARCHON_DIDCOMM_MAX_RECIPIENT_BYTES=32768", "ARCHON_DIDCOMM_MAX_TOTAL_BYTES=40960"}, 10, true, true},
			{"messages of a mailbox", []string{"HOLDMAIL_MAX_RECIPIENT_MESSAGES=8"}, 8, false, false},
			{"messages in all", []string{"HOLDMAIL_MAX_RECIPIENT_MESSAGES=8", "HOLDMAIL_MAX_MESSAGES=10"}, 10, true, false},
		} {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				r := startRelay(t, append(tt.env, "ARCHON_DIDCOMM_DB="+engine)...)
				ann, bob := newWallet(t), newWallet(t)
				last := ann
				var oldest string
				for n := range tt.full {
					if tt.spread && n >= tt.full/2 {
						last = bob
					}
					id := mustFile(t, r, envelope(4096, fmt.Sprint(n), last))
					if n == 0 {
						oldest = id
					}
				}
				next := envelope(4096, "one more", last)
				mustBeFull(t, r, next)
				mustBeFull(t, r, envelope(800, "even a small one", last))
				if removed, err := r.remove(ann, oldest); removed != 1 || err != nil {
					t.Fatalf("acknowledging at the cap: removed %d, %v", removed, err)
				}
				if tt.inBytes {
					mustBeFull(t, r, envelope(4097, "a byte too long", last))
				}
				mustFile(t, r, next)
				mustBeFull(t, r, envelope(800, "full again", last))
			})
		}
		t.Run(engine+"/challenges", func(t *testing.T) {
			t.Parallel()
			challengesMakeRoom(t, startRelay(t, "ARCHON_DIDCOMM_MAX_CHALLENGES=3", "ARCHON_DIDCOMM_DB="+engine))
		})
	}
}

func challengesMakeRoom(t *testing.T, r *relay) {
	w := newWallet(t)
	id := mustFile(t, r, envelope(800, "waiting", w))
	live := []string{challenge(t, r), challenge(t, r), challenge(t, r)}
	for _, c := range live {
		var no *refusal
		if _, err := r.challenge(); !errors.As(err, &no) || no.Status != http.StatusTooManyRequests {
			t.Errorf("a challenge above the ceiling: %v, want 429", err)
		}
		if _, err := r.removeWith(w, c, id); err != nil {
			t.Errorf("acknowledging at the ceiling: %v", err)
		}
		challenge(t, r)
	}
}

// mustFile deposits an envelope for one wallet and returns its id.
func mustFile(t testing.TB, r *relay, packed []byte) string {
	t.Helper()
	ids, err := r.deposit(packed)
	if err != nil || len(ids) != 1 {
		t.Fatalf("depositing %d bytes: ids %v, %v\n%s", len(packed), ids, err, r.log)
	}
	return ids[0]
}

func mustBeFull(t testing.TB, r *relay, packed []byte) {
	t.Helper()
	var no *refusal
	if _, err := r.deposit(packed); !errors.As(err, &no) || no.Status != http.StatusTooManyRequests {
		t.Fatalf("depositing %d bytes at the cap: %v, want 429", len(packed), err)
	}
}
