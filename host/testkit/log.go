package testkit

import (
	"context"
	"log/slog"
	"sync"
)

// lines keeps what guests write to their log.
type lines struct {
	mu   sync.Mutex
	text []string
}

// Enabled is part of slog.Handler.
func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle keeps a line that is a guest's.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	guest := false
	r.Attrs(func(a slog.Attr) bool {
		guest = guest || a.Key == "guest" && a.Value.Kind() == slog.KindBool && a.Value.Bool()
		return !guest
	})
	if guest {
		l.mu.Lock()
		l.text = append(l.text, r.Message)
		l.mu.Unlock()
	}
	return nil
}

// WithAttrs is part of slog.Handler.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is part of slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }
