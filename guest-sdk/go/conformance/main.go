// Command conformance is the module conformance-go.wasm: the programs of guest-sdk/conformance, in Go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("sequential", Sequential)
	reprise.Workflow("parallel", Parallel)
	reprise.Workflow("race", Race)
	reprise.Workflow("caught", Caught)
	reprise.Workflow("flaky", func(ctx context.Context, _ any) (int, error) { return flaky.Do(ctx, nil) })
	reprise.Workflow("timer", Timer)
	reprise.Workflow("signal", Signal)
	reprise.Workflow("child", Child)
	reprise.Workflow("again", Again)
	reprise.Workflow("cleanup", Cleanup)
	reprise.Workflow("large", Large)
	reprise.Workflow("numbers", Numbers)
	reprise.Workflow("unicode", Unicode)
	reprise.Workflow("deep", func(_ context.Context, n int) (int, error) { return sum(n), nil })
	reprise.Workflow("overflow", func(context.Context, any) (int, error) { return endless(1), nil })
	reprise.Workflow("hungry", Hungry)
	reprise.Workflow("panics", Panics)
}

func main() { reprise.Main() }

// Sequential asks n times, each time with the outcome of the time before.
func Sequential(ctx context.Context, n int) (v int, err error) {
	v = 1
	for range n {
		if v, err = double.Do(ctx, v); err != nil {
			return 0, err
		}
	}
	return v, nil
}

// Parallel asks three times at once.
func Parallel(ctx context.Context, _ any) ([]int, error) {
	started := make([]*reprise.Future[int], 3)
	for i := range started {
		started[i] = double.Start(ctx, i+1)
	}
	out := make([]int, len(started))
	for i, f := range started {
		var err error
		if out[i], err = f.Get(ctx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Race lets an activity that takes an hour lose against a timer.
func Race(ctx context.Context, _ any) (string, error) {
	slow := hang.Start(ctx, nil)
	select {
	case <-slow.Done():
		return "hang", nil
	case <-time.After(20 * time.Millisecond):
		slow.Cancel()
		return "timer", nil
	}
}

// caught is what Caught saw of a failure.
type caught struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// Caught lets an activity fail and returns how.
func Caught(ctx context.Context, _ any) (any, error) {
	_, err := decline.Do(ctx, "no money")
	var f *reprise.Failure
	if !errors.As(err, &f) {
		return nil, fmt.Errorf("got %v, want a failure", err)
	}
	return caught{f.Code, f.Message, f.Details}, nil
}

// Timer says whether enough time passes.
func Timer(context.Context, any) (bool, error) {
	began := time.Now()
	time.Sleep(30 * time.Millisecond)
	return time.Since(began) >= 30*time.Millisecond, nil
}

// Signal waits for two signals of one name.
func Signal(ctx context.Context, _ any) ([]any, error) {
	if err := reprise.Publish("stage", "waiting"); err != nil {
		return nil, err
	}
	out := make([]any, 2)
	for i := range out {
		payload, err := reprise.Signal[any](ctx, "go")
		if err != nil {
			return nil, err
		}
		out[i] = payload
	}
	return out, nil
}

// Child lets a run of its own do the work.
func Child(ctx context.Context, n int) (map[string]int, error) {
	v, err := reprise.Child[int](ctx, "sequential", n, reprise.ChildOptions{})
	return map[string]int{"child": v}, err
}

// Again counts down, each time in a new run.
func Again(ctx context.Context, n int) (string, error) {
	if n == 0 {
		return "done", nil
	}
	if _, err := double.Do(ctx, n); err != nil {
		return "", err
	}
	return "", reprise.ContinueAsNew(n - 1)
}

// Cleanup undoes what it did when it is cancelled.
func Cleanup(ctx context.Context, _ any) (any, error) {
	_, err := reprise.Signal[any](ctx, "never")
	if !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("got %v, want that the run is cancelled", err)
	}
	v, undo := double.Do(context.WithoutCancel(ctx), 21)
	if undo != nil {
		return nil, undo
	}
	return nil, errors.Join(err, reprise.Publish("undone", v))
}

// Large passes a mebibyte from one activity to another.
func Large(ctx context.Context, _ any) (map[string]int, error) {
	text, err := repeat.Do(ctx, 1<<20)
	if err != nil {
		return nil, err
	}
	n, err := length.Do(ctx, text)
	return map[string]int{"length": n}, err
}

// numbers is the result of Numbers.
type numbers struct {
	Big int64  `json:"big"`
	NaN string `json:"nan"`
}

// Numbers passes an integer that no float64 holds, and shows the bits of a quotient that is no number.
func Numbers(ctx context.Context, _ any) (numbers, error) {
	big, err := echoInteger.Do(ctx, 1<<53+1)
	if err != nil {
		return numbers{}, err
	}
	zero := float64(big - big)
	return numbers{big, fmt.Sprintf("%016x", math.Float64bits(zero/zero))}, nil
}

// Unicode passes a text with everything that JSON has to care for.
func Unicode(ctx context.Context, _ any) (string, error) {
	return echoText.Do(ctx, "é 😀 日本 \"quoted\" \\ \n")
}

//go:noinline
func sum(n int) int {
	if n == 0 {
		return 0
	}
	return n + sum(n-1)
}

//go:noinline
func endless(n int) int { return endless(n+1) + 1 }

// Hungry takes memory until there is none.
func Hungry(context.Context, any) (int, error) {
	var all []string
	for {
		all = append(all, strings.Repeat("x", 1<<20))
	}
}

// Panics ends by a panic.
func Panics(context.Context, any) (any, error) {
	time.Sleep(time.Millisecond)
	panic("boom")
}
