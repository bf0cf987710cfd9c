package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("caught", Caught)
	reprise.Workflow("fails", Fails)
	reprise.Workflow("panics", Panics)
	reprise.Workflow("panics-elsewhere", PanicsElsewhere)
	reprise.Workflow("deadline", Deadline)
	reprise.Workflow("deadline-escapes", DeadlineEscapes)
	reprise.Workflow("cleanup", Cleanup)
	reprise.Workflow("retry", RetryUntil)
	reprise.Workflow("stuck", Stuck)
}

// Caught lets a request fail, looks at the failure, and goes on.
func Caught(ctx context.Context, _ struct{}) (*reprise.Failure, error) {
	asked := &reprise.Failure{Code: "declined", Message: "no money", Details: []byte(`{"n":9007199254740993}`)}
	_, err := reprise.Effect[string](ctx, "test.fail", asked, reprise.EffectOptions{})
	var f *reprise.Failure
	if !errors.As(err, &f) {
		return nil, fmt.Errorf("got %v, want a failure", err)
	}
	if _, err := echo(ctx, "still alive"); err != nil {
		return nil, err
	}
	return f, nil
}

// Fails ends with the failure in its input, wrapped.
func Fails(_ context.Context, f *reprise.Failure) (string, error) {
	return "", fmt.Errorf("step 3: %w", f)
}

// Panics dereferences nil after a request.
func Panics(ctx context.Context, _ struct{}) (int, error) {
	if _, err := echo(ctx, 1); err != nil {
		return 0, err
	}
	var p *reprise.Failure
	return len(p.Message), nil
}

// PanicsElsewhere panics in a goroutine that nobody recovers.
func PanicsElsewhere(ctx context.Context, _ struct{}) (int, error) {
	go func() { panic("in a goroutine") }()
	return echo(ctx, 1)
}

// Deadline bounds requests by a context's deadline, catches it, and goes on.
func Deadline(ctx context.Context, _ struct{}) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	loose := startHang(bounded) // nobody calls Get before the deadline
	if _, err := startHang(bounded).Get(bounded); err != context.DeadlineExceeded {
		return "", fmt.Errorf("hang: got %v, want the deadline", err)
	}
	<-loose.Done()
	if _, err := loose.Get(ctx); err != context.DeadlineExceeded {
		return "", fmt.Errorf("a future of the expired context: got %v", err)
	}
	if took := time.Since(start); took < 30*time.Millisecond {
		return "", fmt.Errorf("the deadline passed after %v", took)
	}
	if _, err := echo(bounded, 1); err != context.DeadlineExceeded {
		return "", fmt.Errorf("after the deadline: got %v", err)
	}
	if _, err := reprise.Signal[string](bounded, "never"); err != context.DeadlineExceeded {
		return "", fmt.Errorf("signal: got %v", err)
	}
	return echo(ctx, "in time")
}

// DeadlineEscapes returns a deadline's error.
func DeadlineEscapes(ctx context.Context, _ struct{}) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	return startHang(ctx).Get(ctx)
}

// Cleanup waits until its run is cancelled and cleans up with requests that cancellation does not touch.
func Cleanup(ctx context.Context, _ struct{}) (string, error) {
	reprise.Publish("stage", "waiting")
	_, err := reprise.Signal[string](ctx, "never")
	if !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), reprise.ErrCancelled) {
		return "", fmt.Errorf("got %v with cause %v, want a cancellation", err, context.Cause(ctx))
	}
	if _, err := echo(ctx, "refused"); err != context.Canceled {
		return "", fmt.Errorf("a request after cancellation: got %v", err)
	}
	undone, cleanupErr := echo(context.WithoutCancel(ctx), "undone")
	if cleanupErr != nil {
		return "", cleanupErr
	}
	reprise.Publish("stage", undone)
	return "", fmt.Errorf("wait: %w", err)
}

// flaky fails on its first attempts.
var flaky = reprise.NewActivity("flaky", func(_ context.Context, failures int) (string, error) {
	attempt := reprise.Info().Attempt
	if attempt <= failures {
		return "", reprise.Failf("not_yet", "attempt %d", attempt)
	}
	return fmt.Sprint("attempt ", attempt), nil
}, reprise.ActivityOptions{Retry: &reprise.Retry{Attempts: 3, Backoff: time.Millisecond}})

var final = reprise.NewActivity("final", func(context.Context, struct{}) (string, error) {
	return "", reprise.NonRetryable(reprise.Failf("final", "attempt %d", reprise.Info().Attempt))
}, reprise.ActivityOptions{Retry: &reprise.Retry{Attempts: 3, Backoff: time.Millisecond}})

// RetryUntil runs activities that are retried: to success, to the last attempt, and not at all.
func RetryUntil(ctx context.Context, _ struct{}) ([]string, error) {
	ok, err := flaky.Do(ctx, 2)
	if err != nil {
		return nil, err
	}
	_, exhausted := flaky.Do(ctx, 5)
	_, once := final.Do(ctx, struct{}{})
	_, listed := flaky.With(reprise.ActivityOptions{Retry: &reprise.Retry{Attempts: 3, Backoff: time.Millisecond, NonRetryable: []string{"not_yet"}}}).Do(ctx, 1)
	_, unknown := reprise.RemoteActivity[int, int]("", "nobody", reprise.ActivityOptions{}).Do(ctx, 1)
	var f *reprise.Failure
	if !errors.As(unknown, &f) {
		return nil, fmt.Errorf("unknown activity: got %v, want a failure", unknown)
	}
	return []string{ok, fmt.Sprint(exhausted), fmt.Sprint(once), fmt.Sprint(listed), f.Code}, nil
}

// Stuck waits for a channel that nobody writes to.
func Stuck(context.Context, struct{}) (string, error) { return <-make(chan string), nil }
