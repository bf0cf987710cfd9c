package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"reprise/guest-sdk/go"
)

// impatient is the policy of what fails on purpose.
var impatient = reprise.ActivityOptions{Retry: &reprise.Retry{Attempts: 5, Backoff: time.Millisecond}}

var double = reprise.NewActivity("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil }, reprise.ActivityOptions{})

// echo returns what it is given, whatever that is; workflows call it with one type and another.
var (
	_           = reprise.NewActivity("echo", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }, reprise.ActivityOptions{})
	echoInteger = reprise.RemoteActivity[int64, int64]("", "echo", reprise.ActivityOptions{})
	echoText    = reprise.RemoteActivity[string, string]("", "echo", reprise.ActivityOptions{})
)

var repeat = reprise.NewActivity("repeat", func(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }, reprise.ActivityOptions{})

var length = reprise.NewActivity("length", func(_ context.Context, s string) (int, error) { return len(s), nil }, reprise.ActivityOptions{})

var hang = reprise.NewActivity("hang", func(ctx context.Context, _ any) (any, error) {
	return nil, reprise.Sleep(ctx, time.Hour)
}, reprise.ActivityOptions{Timeout: 2 * time.Hour})

var decline = reprise.NewActivity("decline", func(_ context.Context, why string) (any, error) {
	return nil, reprise.NonRetryable(reprise.Failf("declined", "%s", why).WithDetails(map[string]int{"limit": 9}))
}, impatient)

var flaky = reprise.NewActivity("flaky", func(context.Context, any) (int, error) {
	attempt := reprise.Info().Attempt
	if attempt < 3 {
		return 0, reprise.Failf("failed", "attempt %d", attempt)
	}
	return attempt, nil
}, impatient)
