package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdmail/holdmail/appliance/did"
	"github.com/holdmail/holdmail/appliance/resolve"
)

// slow answers after a time with what is current then, and counts the questions.
type slow struct {
	takes time.Duration
	asked atomic.Int32

	mu  sync.Mutex // guards both
	key did.Key
	err error
}

func (s *slow) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	s.asked.Add(1)
	s.mu.Lock()
	key, err := s.key, s.err
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
		return did.Document{ID: "did:other:" + string(id), Signing: key}, err
	case <-ctx.Done():
		return did.Document{}, fmt.Errorf("%w: %w", resolve.ErrUnreachable, ctx.Err())
	}
}

func (s *slow) set(key did.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.err = key, err
}

// cached runs a test with a cache before next, in a time of its own.
func cached(t *testing.T, next resolve.Resolver, test func(t *testing.T, c *resolve.Cache)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := resolve.NewCache(next)
		defer c.Close()
		test(t, c)
	})
}

var keyA, keyB = did.Key{Curve: did.Ed25519, Point: "a"}, did.Key{Curve: did.Ed25519, Point: "b"}

func TestAnswersCountForABoundedTime(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		life time.Duration
	}{
		"a key":        {nil, time.Minute},
		"not found":    {resolve.ErrNotFound, 5 * time.Second},
		"no key":       {did.ErrNoKey, 5 * time.Second},
		"unreachable":  {resolve.ErrUnreachable, time.Second},
		"unknown ends": {context.DeadlineExceeded, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			next := &slow{takes: 100 * time.Millisecond, key: keyA, err: tt.err}
			cached(t, next, func(t *testing.T, c *resolve.Cache) {
				began := time.Now()
				ask := func(want error, asked int32) {
					t.Helper()
					if _, err := c.Resolve(t.Context(), ann); !errors.Is(err, want) {
						t.Errorf("after %v: %v, want %v", time.Since(began), err, want)
					}
					if n := next.asked.Load(); n != asked {
						t.Errorf("after %v: asked %d times, want %d", time.Since(began), n, asked)
					}
				}
				ask(tt.err, 1)
				next.set(keyB, nil)
				time.Sleep(tt.life - time.Since(began) - time.Nanosecond) // counted from the question
				ask(tt.err, 1)
				time.Sleep(time.Nanosecond)
				ask(nil, 2)
				if doc, _ := c.Resolve(t.Context(), ann); doc.Signing != keyB || doc.ID != string(ann) {
					t.Errorf("document = %v, want %s with the new key", doc, ann)
				}
			})
		})
	}
}

func TestQuestionsForOneDIDAreOne(t *testing.T) {
	next := &slow{takes: time.Second, key: keyA}
	cached(t, next, func(t *testing.T, c *resolve.Cache) {
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				id := did.ID(fmt.Sprintf("did:cid:%d", i%2))
				if doc, err := c.Resolve(t.Context(), id); err != nil || doc.Signing != keyA || doc.ID != string(id) {
					t.Errorf("%s: %v, %v", id, doc, err)
				}
			})
		}
		callers.Wait()
		if n := next.asked.Load(); n != 2 {
			t.Errorf("asked %d times for two DIDs", n)
		}
	})
}

func TestCallerWhoLeavesTakesNoAnswerFromOthers(t *testing.T) {
	next := &slow{takes: time.Second, key: keyA}
	cached(t, next, func(t *testing.T, c *resolve.Cache) {
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := c.Resolve(impatient, ann); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Millisecond {
			t.Errorf("error = %v after %v, want the time to be over", err, time.Since(began))
		}
		if _, err := c.Resolve(t.Context(), ann); err != nil || next.asked.Load() != 1 {
			t.Errorf("%v, asked %d times; want the answer to the first question", err, next.asked.Load())
		}
	})
}

func TestQuestionsUnderWayAreBounded(t *testing.T) {
	next := &slow{takes: time.Second, key: keyA}
	cached(t, next, func(t *testing.T, c *resolve.Cache) {
		var refused atomic.Int32
		var callers sync.WaitGroup
		for i := range 300 {
			callers.Go(func() {
				if _, err := c.Resolve(t.Context(), did.ID(fmt.Sprintf("did:cid:%d", i))); errors.Is(err, resolve.ErrUnreachable) {
					refused.Add(1)
				}
			})
		}
		callers.Wait()
		if n, r := next.asked.Load(), refused.Load(); n != 256 || r != 44 {
			t.Errorf("asked %d, refused %d; want 256 and 44", n, r)
		}
		for i := range 300 { // a refusal is not kept
			if _, err := c.Resolve(t.Context(), did.ID(fmt.Sprintf("did:cid:%d", i))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAnswersKeptAreBounded(t *testing.T) {
	const kept, more = 10_000, 100
	next := &slow{key: keyA}
	cached(t, next, func(t *testing.T, c *resolve.Cache) {
		for i := range kept + more {
			if _, err := c.Resolve(t.Context(), did.ID(fmt.Sprintf("did:cid:%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		for i := kept + more; i > more; i-- {
			c.Resolve(t.Context(), did.ID(fmt.Sprintf("did:cid:%d", i-1)))
		}
		if n := next.asked.Load(); n != kept+more {
			t.Errorf("asked %d times, want %d: the newest are kept", n, kept+more)
		}
		c.Resolve(t.Context(), "did:cid:0")
		if n := next.asked.Load(); n != kept+more+1 {
			t.Errorf("asked %d times: the oldest is kept too", n)
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	next := &slow{takes: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		c := resolve.NewCache(next)
		began, ended := time.Now(), make(chan error)
		go func() {
			_, err := c.Resolve(t.Context(), ann)
			ended <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-ended; !errors.Is(err, resolve.ErrUnreachable) || time.Since(began) != 0 {
			t.Errorf("error = %v after %v, want ErrUnreachable at once", err, time.Since(began))
		}
		if _, err := c.Resolve(t.Context(), "did:cid:late"); !errors.Is(err, resolve.ErrUnreachable) {
			t.Errorf("after Close: %v, want ErrUnreachable", err)
		}
	})
}
