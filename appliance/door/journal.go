package door

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/holdmail/holdmail/appliance/source"
)

// A flood of refusals must not fill an SD card: at most journalLines lines of
// each kind (refusals, our own failures) are written in one journalWindow.
const (
	journalLines  = 100
	journalWindow = 10 * time.Second
)

// Journal writes one line for every call that was not answered with a 2xx, so
// many at a time, then only the number of those it left out. A line tells the
// method, the route, the status, the sentence and the source address: no DID,
// no content and no path that a stranger made up. Causes are shown for failures
// of ours, and for refusals at the debug level.
type Journal struct {
	log *slog.Logger

	mu       sync.Mutex // guards both; not held while a line is written
	refusals window
	failures window
}

// NewJournal returns a journal that writes to log.
func NewJournal(log *slog.Logger) *Journal { return &Journal{log: log} }

// refused notes that a call was answered with e, or, if its answer had begun,
// that e cut it short.
func (j *Journal) refused(r *http.Request, route string, e *Error, began bool) {
	level, line, lines := slog.LevelInfo, "refused", &j.refusals
	if e.Status >= http.StatusInternalServerError || began {
		level, line, lines = slog.LevelWarn, "failed", &j.failures
	}
	if e.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	if began {
		line = "answer cut short"
	}
	if !j.take(r.Context(), level, lines) {
		return
	}
	attrs := append(facts(r, route), slog.Int("status", e.Status), slog.String("answer", e.Message))
	if e.Cause != nil && (level > slog.LevelInfo || j.log.Enabled(r.Context(), slog.LevelDebug)) {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	j.log.LogAttrs(r.Context(), level, line, attrs...)
}

// take reports whether a line may be written. The first of a window comes after
// one that tells how many the window before left out.
func (j *Journal) take(ctx context.Context, level slog.Level, lines *window) bool {
	j.mu.Lock()
	write, leftOut := lines.take(time.Now())
	j.mu.Unlock()
	j.leftOut(ctx, level, leftOut)
	return write
}

// leftOut notes how many lines were.
func (j *Journal) leftOut(ctx context.Context, level slog.Level, lines int) {
	if lines > 0 {
		j.log.LogAttrs(ctx, level, "lines left out", slog.Int("count", lines))
	}
}

// Close notes what was left out since the last line. It is for the end of the
// last call.
func (j *Journal) Close() {
	j.mu.Lock()
	refusals, failures := j.refusals.leftOut, j.failures.leftOut
	j.refusals.leftOut, j.failures.leftOut = 0, 0
	j.mu.Unlock()
	j.leftOut(context.Background(), slog.LevelInfo, refusals)
	j.leftOut(context.Background(), slog.LevelWarn, failures)
}

// abandoned notes that the caller left before its answer was out.
func (j *Journal) abandoned(r *http.Request, route string, cause error) {
	j.log.LogAttrs(r.Context(), slog.LevelDebug, "caller left", append(facts(r, route), slog.String("cause", cause.Error()))...)
}

// facts are what every line tells of a call.
func facts(r *http.Request, route string) []slog.Attr {
	return []slog.Attr{
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", route),
		slog.String("source", source.Of(r).String()),
	}
}

// knownMethod keeps a method that a stranger made up out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// window counts the lines of one journalWindow. It begins with the first line
// after the last window's end.
type window struct {
	began   time.Time
	lines   int
	leftOut int
}

// take reports whether one more line may be written at now, and how many lines
// the window before left out.
func (w *window) take(now time.Time) (write bool, leftOut int) {
	if now.Sub(w.began) >= journalWindow {
		leftOut = w.leftOut
		*w = window{began: now}
	}
	if w.lines == journalLines {
		w.leftOut++
		return false, leftOut
	}
	w.lines++
	return true, leftOut
}
