package resolve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/holdmail/holdmail/appliance/did"
)

// How long an answer counts, from when it was asked for.
const (
	keepKey         = time.Minute     // a rotated or stolen key: relay spec, at most 60 s
	keepNotFound    = 5 * time.Second // a DID that is being made
	keepUnreachable = time.Second     // a resolver that is coming back
)

const (
	maxAnswers   = 10_000 // kept, at a few hundred bytes each
	maxQuestions = 256    // under way at one time
)

// Cache asks another resolver, at most once at a time for one DID, and keeps the
// answers, failures too but shortly. It is safe for concurrent use.
//
// A question outlives the caller who put it first, since others may wait for the
// same answer; Close ends those that are under way.
type Cache struct {
	next    Resolver
	answers *lru.Cache[digest, kept]
	flights singleflight.Group
	turns   chan struct{}   // one in it for each question under way
	ctx     context.Context // ends with Close
	close   context.CancelFunc
}

// digest stands for a DID, so that the longest takes no more room than any other.
type digest [sha256.Size]byte

// kept is an answer, and until when it counts.
type kept struct {
	key   did.Key
	err   error
	until time.Time
}

// NewCache returns a cache before next. The caller must Close it.
func NewCache(next Resolver) *Cache {
	answers, err := lru.New[digest, kept](maxAnswers)
	if err != nil {
		panic("resolve: " + err.Error()) // only a size below 1 is an error
	}
	c := &Cache{next: next, answers: answers, turns: make(chan struct{}, maxQuestions)}
	c.ctx, c.close = context.WithCancel(context.Background())
	return c
}

// Resolve implements Resolver. It returns when ctx ends, whether or not there is an
// answer yet; an error that says so wraps the context's.
func (c *Cache) Resolve(ctx context.Context, id did.ID) (did.Document, error) {
	name := digest(sha256.Sum256([]byte(id)))
	if k, ok := c.answers.Get(name); ok && time.Now().Before(k.until) {
		return k.document(id)
	}
	answer := c.flights.DoChan(string(name[:]), func() (any, error) { return c.ask(name, id), nil })
	select {
	case a := <-answer:
		return a.Val.(kept).document(id)
	case <-ctx.Done():
		return did.Document{}, fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
	}
}

// Close ends the questions that are under way and waits for their ends. It takes all
// the turns, so that later questions find nobody. Call it once.
func (c *Cache) Close() error {
	c.close()
	for range maxQuestions {
		c.turns <- struct{}{}
	}
	return nil
}

// ask puts a question and keeps the answer.
func (c *Cache) ask(name digest, id did.ID) kept {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	default:
		return kept{err: fmt.Errorf("%w: too many questions are under way", ErrUnreachable)}
	}
	asked := time.Now()
	doc, err := c.next.Resolve(c.ctx, id)
	k := kept{key: doc.Signing, err: err, until: asked.Add(lifeOf(err))}
	if !errors.Is(err, context.Canceled) {
		c.answers.Add(name, k)
	}
	return k
}

func lifeOf(err error) time.Duration {
	switch {
	case err == nil:
		return keepKey
	case errors.Is(err, ErrUnreachable):
		return keepUnreachable
	}
	return keepNotFound
}

// document is the answer for the DID that was asked for.
func (k kept) document(id did.ID) (did.Document, error) {
	if k.err != nil {
		return did.Document{}, k.err
	}
	return did.Document{ID: string(id), Signing: k.key}, nil
}
