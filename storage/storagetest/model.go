package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdmail/holdmail/storage"
	"pgregory.net/rapid"
)

// paper is the simplest mailbox there can be.
type paper struct {
	copies []paperCopy
	named  []paperCopy // all there ever were
	now    time.Duration
}

type paperCopy struct {
	recipient, id, body string
	born                time.Duration
	filed               int // by which deposit
}

func (p *paper) live(recipient string) (live []paperCopy) {
	for _, c := range p.copies {
		if c.recipient == recipient && p.now-c.born < time.Hour {
			live = append(live, c)
		}
	}
	return live
}

// after is what a recipient has that was filed after one of its messages.
func (p *paper) after(c paperCopy) (later []paperCopy) {
	for _, l := range p.live(c.recipient) {
		if l.filed > c.filed {
			later = append(later, l)
		}
	}
	return later
}

// fits decides by unexpired mail alone, since a refusal sheds the rest first.
func (p *paper) fits(recipients []string, size int64, caps storage.Caps) bool {
	var bytes, messages int64
	for _, r := range []string{"ann", "bob", "cid"} {
		var box, count int64
		for _, c := range p.live(r) {
			box, count = box+int64(len(c.body)), count+1
		}
		if slices.Contains(recipients, r) {
			box, count = box+size, count+1
			if box > caps.RecipientBytes || count > caps.RecipientMessages {
				return false
			}
		}
		bytes, messages = bytes+box, messages+count
	}
	return bytes <= caps.TotalBytes && messages <= caps.TotalMessages
}

// testModel makes random calls and compares every answer with paper's.
func testModel(t *testing.T, open Open) {
	caps := storage.Caps{RecipientBytes: 60_000, TotalBytes: 100_000, RecipientMessages: 8, TotalMessages: 14, Challenges: 1}
	rapid.Check(t, func(r *rapid.T) {
		b := open.open(t, func(o *storage.Options) { o.Caps = caps })
		defer b.Close()
		p := &paper{}
		r.Repeat(map[string]func(*rapid.T){
			"deposit": func(r *rapid.T) {
				to := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ann", "bob", "cid"}), 1, 3, rapid.ID).Draw(r, "to")
				text := body(fmt.Sprint("message ", len(p.copies)), rapid.SampledFrom([]int{0, 20, 600, 2048, 5000, 40_000}).Draw(r, "size"))
				ids, err := b.add(text, to...)
				if fits := p.fits(to, int64(len(text)), caps); fits != (err == nil) || (err != nil && !errors.Is(err, storage.ErrFull)) {
					r.Fatalf("a deposit of %d bytes for %v: %v; it fits: %v", len(text), to, err, fits)
				}
				for i, id := range ids {
					c := paperCopy{to[i], id, text, p.now, len(p.named)}
					p.copies, p.named = append(p.copies, c), append(p.named, c)
				}
			},
			"remove": func(r *rapid.T) {
				who := rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(r, "who")
				var ids []string
				want := 0
				for i := len(p.copies) - 1; i >= 0; i-- {
					if c := p.copies[i]; rapid.Bool().Draw(r, "this one") {
						ids = append(ids, c.id)
						if c.recipient == who {
							if p.now-c.born < time.Hour {
								want++
							}
							p.copies = slices.Delete(p.copies, i, i+1)
						}
					}
				}
				if got, err := b.Mail.Remove(t.Context(), who, ids); got != want || err != nil {
					r.Fatalf("Remove(%s, %d ids) = %d, %v; want %d", who, len(ids), got, err, want)
				}
			},
			"page": func(r *rapid.T) {
				if len(p.named) == 0 {
					return
				}
				c := rapid.SampledFrom(p.named).Draw(r, "after")
				got, want := b.listAfter(c.recipient, c.id), p.after(c)
				if !slices.EqualFunc(got, want, func(l letter, w paperCopy) bool { return l.id == w.id && l.body == w.body }) {
					r.Fatalf("%s has %d messages after one; want %d", c.recipient, len(got), len(want))
				}
			},
			"wait": func(r *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute
				p.now += d
				b.clock.Advance(d)
			},
			"step the clock": func(r *rapid.T) {
				b.clock.Step(time.Duration(rapid.IntRange(-100_000, 100_000).Draw(r, "hours")) * time.Hour)
			},
			"": func(r *rapid.T) {
				for _, who := range []string{"ann", "bob", "cid"} {
					got, want := b.list(who), p.live(who)
					if len(got) != len(want) {
						r.Fatalf("%s has %d messages; want %d", who, len(got), len(want))
					}
					for i := range got {
						if got[i].id != want[i].id || got[i].body != want[i].body {
							r.Fatalf("message %d of %s is %s %s; want %s %s", i, who, got[i].id, brief(got[i].body), want[i].id, brief(want[i].body))
						}
					}
				}
				b.totals()
			},
		})
	})
}
