package appliance

import (
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

// NewLog returns the log that c asks for. journal is the value of
// JOURNAL_STREAM: when it names out, the lines end in the journal, which stamps
// them itself, so that text carries no time.
func NewLog(c Config, out *os.File, journal string) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	switch {
	case c.LogFormat == "json":
		return slog.New(slog.NewJSONHandler(out, options))
	case c.LogFormat == "auto" && isStream(out, journal):
		options.ReplaceAttr = withoutTime
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// isStream reports whether out is the stream of that name. A child may have
// inherited the variable and not the stream.
func isStream(out *os.File, name string) bool {
	mine, err := streamName(out)
	return err == nil && name == mine
}

// streamName names a stream as the journal does: device:inode.
func streamName(f *os.File) (string, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), nil
}

// withoutTime drops the time of a record.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
