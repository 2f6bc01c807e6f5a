package appliance

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdmail/holdmail/appliance/door"
	"github.com/holdmail/holdmail/appliance/source"
	"github.com/holdmail/holdmail/ratelimit"
)

// limit charges calls to the budgets of their class (relay spec §5.2.1). A nil
// limit charges nothing.
type limit struct {
	budgets *ratelimit.Limiter
	upload  int64 // bytes that a deposit's body has at most
}

// newLimit keeps the budgets of c, or is nil if they are off.
func newLimit(c Config) *limit {
	if !c.RateLimit {
		return nil
	}
	budgets := map[ratelimit.Class]ratelimit.Budget{
		ratelimit.Read:    {PerSource: c.ReadPerSource, Global: c.ReadGlobal, Window: c.RateWindow},
		ratelimit.Deposit: {PerSource: c.DepositPerSource, Global: c.DepositGlobal, Window: c.RateWindow},
		deliveryClass:     {PerSource: c.Hooks.PerAddress, Global: c.Hooks.PerMinute, Window: time.Minute},
		homeClass:         {PerSource: homeCalls * c.Hooks.PerMinute, Global: homeCalls * c.Hooks.PerMinute, Window: time.Minute},
	}
	return &limit{ratelimit.New(ratelimit.Options{Budgets: budgets, MaxSources: c.MaxSources}), c.UploadLimit}
}

type receiptKey struct{}

// charged makes a call of some class pay before h is asked, and so before its
// body is read, unless it is for its handler to charge. OPTIONS is free.
func (l *limit) charged(class ratelimit.Class, h door.Handler) door.Handler {
	if l == nil || class == door.Free || class == door.Self {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodOptions {
			return h(w, r)
		}
		budget, cost := l.firstCost(class, r)
		receipt, err := l.budgets.Take(budget, payer(r), cost)
		if err != nil {
			return overBudget(err, hasBody(r))
		}
		return h(w, r.WithContext(context.WithValue(r.Context(), receiptKey{}, receipt)))
	}
}

// payer is whose budgets a request spends.
func payer(r *http.Request) ratelimit.Source {
	from := source.Of(r)
	return ratelimit.Source{Key: from.Key, Ceiling: from.Ceiling}
}

// firstCost is what a call costs before its body is read: a deposit the length it
// declares, or, if it declares none, the upload limit. One that will be refused
// unread costs what a read does: otherwise a header line could spend everybody's
// budget of deposits.
func (l *limit) firstCost(class ratelimit.Class, r *http.Request) (ratelimit.Class, int64) {
	switch {
	case class != ratelimit.Deposit:
		return class, 1
	case r.ContentLength < 0:
		return class, l.upload
	case door.RefusedUnread(r, l.upload) != nil:
		return ratelimit.Read, 1
	}
	return class, min(r.ContentLength, l.upload)
}

// rest charges what a deposit takes from the store, so many bytes in all, beyond
// what it has paid. If the budgets do not have it, the first part is given back.
// It is for mailbox.Service.
func (l *limit) rest(ctx context.Context, bytes int64) error {
	receipt, ok := ctx.Value(receiptKey{}).(*ratelimit.Receipt)
	if !ok {
		return nil // budgets are off
	}
	if err := receipt.More(bytes); err != nil {
		return overBudget(err, false)
	}
	return nil
}

// overBudget says when the caller may come again. unread is true while a body
// is on its way that nobody will read.
func overBudget(err error, unread bool) error {
	no, ok := errors.AsType[*ratelimit.Refusal](err)
	if !ok {
		return err
	}
	const message = "Rate limit exceeded"
	return &door.Error{
		Status:     http.StatusTooManyRequests,
		Message:    message,
		RetryAfter: no.RetryAfter,
		Close:      unread,
		Body: struct {
			Error   string `json:"error"`
			ResetAt int64  `json:"resetAt"` // Unix seconds
		}{message, no.ResetAt.Unix()},
	}
}
