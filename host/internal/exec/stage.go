package exec

import (
	"context"
	"time"

	"reprise/host/effect"
	"reprise/journal"
)

// Stage stands in for the world around a turner where the time is not the world's, as in a test of a module: then Config.Clock
// is the stage's too. It sees each attempt leave, carries it out or lets it be carried out, and says how long nothing happens. So
// it may let one goroutine go on at a time, always the same one, and pass over time in which all wait.
type Stage interface {
	// Attempt is told that an attempt is about to leave. On the attempt's own goroutine enter is called before anything else, and
	// leave when its outcome has been posted.
	Attempt() (enter, leave func())
	// Carry carries out an attempt of an effect or activity. do is how the turner would; an effect that it does not
	// have is a failure of do.
	Carry(ctx context.Context, kind journal.Kind, r effect.Request, do func(context.Context) ([]byte, error)) ([]byte, error)
	// Within is ctx until d has passed; then its error is context.DeadlineExceeded.
	Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Rest returns when wake has a value, which it takes, when due has come, unless that is zero, or when ctx is done.
	Rest(ctx context.Context, wake <-chan struct{}, due time.Time)
}

// departs is Stage.Attempt.
func (t *Turner) departs() (enter, leave func()) {
	if t.cfg.Stage == nil {
		return func() {}, func() {}
	}
	return t.cfg.Stage.Attempt()
}

// within bounds an attempt's time.
func (t *Turner) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if t.cfg.Stage == nil {
		return context.WithTimeout(ctx, d)
	}
	return t.cfg.Stage.Within(ctx, d)
}

// staged lets the stage carry the attempt out, when there is one.
func (a attempt) staged(do func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	s := a.r.t.cfg.Stage
	if s == nil {
		return do
	}
	return func(ctx context.Context) ([]byte, error) { return s.Carry(ctx, a.op.kind, a.request(), do) }
}
