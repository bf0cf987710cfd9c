package reprise

import (
	"context"
	"time"
)

// ActivityOptions say how long an activity or effect may take and how often it is attempted.
type ActivityOptions struct {
	// Timeout bounds one attempt. 0: 30 s.
	Timeout time.Duration
	// TotalTimeout bounds all attempts together, from the request on. 0: no bound.
	TotalTimeout time.Duration
	// Retry says how failures are retried. nil: the host's default for the effect, no retry for an activity.
	Retry *Retry
}

// EffectOptions are the options of an effect, the same as an activity's.
type EffectOptions = ActivityOptions

// Retry is a policy for failed attempts. The wait before attempt n+1 is
// min(Backoff * Factor^(n-1), MaxBackoff).
type Retry struct {
	Attempts     int           // in all, the first included. 0: 1, that is no retry
	Backoff      time.Duration // after the first failure. 0: 1 s
	Factor       float64       // growth of the wait. 0: 2
	MaxBackoff   time.Duration // 0: 1 min
	NonRetryable []string      // failure codes that end it at once
}

// Activity is a function that runs outside the workflow: in an instance of its own, at least once,
// retried by policy, its outcome journaled. The zero value names no activity.
type Activity[In, Out any] struct {
	name, module string
	opts         ActivityOptions
}

// NewActivity registers an activity of this module under a name and returns the value by which
// workflows call it; keep it in a package variable. It panics when the name is empty, too long or taken.
// Inside fn requests go to the world directly, without a journal: when an attempt dies half way,
// the next begins at the start.
func NewActivity[In, Out any](name string, fn func(ctx context.Context, in In) (Out, error), opts ActivityOptions) Activity[In, Out] {
	add(program.activities, "activity", name, wrap(fn))
	return Activity[In, Out]{name: name, opts: opts}
}

// RemoteActivity names an activity of another module: a workflow name or a digest ("sha256:...").
func RemoteActivity[In, Out any](module, name string, opts ActivityOptions) Activity[In, Out] {
	return Activity[In, Out]{name: name, module: module, opts: opts}
}

// With returns the activity with other options.
func (a Activity[In, Out]) With(opts ActivityOptions) Activity[In, Out] {
	a.opts = opts
	return a
}

// Do runs the activity and waits for its outcome; see Future.Get for its errors.
func (a Activity[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	return a.Start(ctx, in).Get(ctx)
}

// Start runs the activity and returns at once. When ctx is done first, the activity is given up.
func (a Activity[In, Out]) Start(ctx context.Context, in In) *Future[Out] {
	return startRequest[Out](ctx, callActivity, a.name, in, a.opts.encode(a.module))
}

// Effect asks the host for an effect by name, for those that this package has no function for.
func Effect[Out any](ctx context.Context, name string, in any, opts EffectOptions) (Out, error) {
	return StartEffect[Out](ctx, name, in, opts).Get(ctx)
}

// StartEffect is Effect that returns at once.
func StartEffect[Out any](ctx context.Context, name string, in any, opts EffectOptions) *Future[Out] {
	return startRequest[Out](ctx, callEffect, name, in, opts.encode(""))
}

func startRequest[Out any](ctx context.Context, call func(name string, in, opts []byte) int32, name string, in any, opts []byte) *Future[Out] {
	payload, err := encode(in)
	if err != nil {
		return &Future[Out]{settled(NonRetryable(Failf(CodeInvalidInput, "the input of %s cannot be encoded: %v", name, err)))}
	}
	return &Future[Out]{start(ctx, func() int32 { return call(name, payload, opts) })}
}

// wireOptions and wireRetry are the options as the contract writes them.
type wireOptions struct {
	Module         string     `json:"module,omitempty"`
	TimeoutMS      int64      `json:"timeout_ms,omitempty"`
	TotalTimeoutMS int64      `json:"total_timeout_ms,omitempty"`
	Retry          *wireRetry `json:"retry,omitempty"`
}

type wireRetry struct {
	Attempts     int      `json:"attempts,omitempty"`
	BackoffMS    int64    `json:"backoff_ms,omitempty"`
	Factor       float64  `json:"factor,omitempty"`
	MaxBackoffMS int64    `json:"max_backoff_ms,omitempty"`
	NonRetryable []string `json:"non_retryable,omitempty"`
}

// encode gives the options' bytes, none when all are defaults. A policy that JSON cannot express (a
// factor that is no number) is sent as text, which the host refuses with code invalid_options.
func (o ActivityOptions) encode(module string) []byte {
	w := wireOptions{Module: module, TimeoutMS: milliseconds(o.Timeout), TotalTimeoutMS: milliseconds(o.TotalTimeout)}
	if r := o.Retry; r != nil {
		w.Retry = &wireRetry{r.Attempts, milliseconds(r.Backoff), r.Factor, milliseconds(r.MaxBackoff), r.NonRetryable}
	} else if w == (wireOptions{}) {
		return nil
	}
	b, err := encode(w)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// milliseconds rounds up, so that a short duration is not taken for the default.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return int64(d / time.Millisecond)
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
