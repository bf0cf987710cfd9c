package reprise

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// The levels of a log line, as the contract numbers them.
const (
	logDebug int32 = 0
	logInfo  int32 = 1
	logWarn  int32 = 2
	logError int32 = 3
)

// Log writes a line to the run's log at level info. The log is silent in replay. What a program
// writes to stdout and stderr goes to the same log.
func Log(format string, args ...any) { callLog(logInfo, fmt.Sprintf(format, args...)) }

// Logger returns a logger that writes to the run's log: the message, then attributes as key=value.
// The host adds time, level and run.
func Logger() *slog.Logger { return slog.New(newLogHandler(callLog)) }

// logHandler prints through a slog.TextHandler into a buffer that its derived handlers share.
type logHandler struct {
	text slog.Handler
	line *line
}

type line struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	write func(level int32, line string)
}

func newLogHandler(write func(int32, string)) logHandler {
	l := &line{write: write}
	opts := slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		_, level := a.Value.Any().(slog.Level)
		if len(groups) == 0 && (a.Key == slog.LevelKey && level || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}}
	return logHandler{text: slog.NewTextHandler(&l.buf, &opts), line: l}
}

// Enabled says yes to all; the host decides what it keeps.
func (h logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one line.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	l := h.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
	r.Time = time.Time{} // the host knows the time; a zero one is not printed
	if err := h.text.Handle(ctx, r); err != nil {
		return err
	}
	l.write(logLevel(r.Level), strings.TrimSpace(r.Message+" "+l.buf.String()))
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.text.WithAttrs(attrs), h.line}
}

// WithGroup returns a handler that puts attributes into a group.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.text.WithGroup(name), h.line}
}

func logLevel(l slog.Level) int32 {
	switch {
	case l >= slog.LevelError:
		return logError
	case l >= slog.LevelWarn:
		return logWarn
	case l >= slog.LevelInfo:
		return logInfo
	}
	return logDebug
}
