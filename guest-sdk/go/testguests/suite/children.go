package main

import (
	"context"
	"errors"
	"fmt"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("children", Children)
	reprise.Workflow("child-fails", ChildFails)
	reprise.Workflow("child-given-up", ChildGivenUp)
	reprise.Workflow("child-of-activity", ChildOfActivity)
	reprise.Workflow("again", Again)
	reprise.Workflow("again-elsewhere", AgainElsewhere)
}

// Children lets n runs of their own work at once.
func Children(ctx context.Context, n int) ([]int, error) {
	started := make([]*reprise.Future[int], n)
	for i := range started {
		started[i] = reprise.StartChild[int](ctx, "sequential", i, reprise.ChildOptions{})
	}
	out := make([]int, n)
	for i, f := range started {
		var err error
		if out[i], err = f.Get(ctx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ChildFails returns how a child failed.
func ChildFails(ctx context.Context, f *reprise.Failure) (*reprise.Failure, error) {
	_, err := reprise.Child[string](ctx, "fails", f, reprise.ChildOptions{Module: "suite"})
	var got *reprise.Failure
	if !errors.As(err, &got) {
		return nil, fmt.Errorf("got %v, want a failure", err)
	}
	return got, nil
}

// ChildGivenUp starts a child that never ends and gives it up.
func ChildGivenUp(ctx context.Context, _ struct{}) (bool, error) {
	f := reprise.StartChild[string](ctx, "cleanup", nil, reprise.ChildOptions{})
	if _, err := echo(ctx, 1); err != nil {
		return false, err
	}
	f.Cancel()
	_, err := f.Get(ctx)
	return errors.Is(err, reprise.ErrCancelled), nil
}

// parent is an activity that tries what only a workflow may.
var parent = reprise.NewActivity("parent", func(ctx context.Context, what string) (int, error) {
	if what == "again" {
		return 0, reprise.ContinueAsNew(1)
	}
	return reprise.Child[int](ctx, "sequential", 1, reprise.ChildOptions{})
}, reprise.ActivityOptions{})

// ChildOfActivity shows what an activity is told that starts a child.
func ChildOfActivity(ctx context.Context, _ struct{}) (string, error) {
	return codeOf(parent.Do(ctx, "child"))
}

// AgainElsewhere shows what becomes of an activity that would continue as new.
func AgainElsewhere(ctx context.Context, _ struct{}) (string, error) {
	return codeOf(parent.Do(ctx, "again"))
}

func codeOf(_ int, err error) (string, error) {
	var f *reprise.Failure
	if !errors.As(err, &f) {
		return "", fmt.Errorf("got %v, want a failure", err)
	}
	return f.Code + ": " + f.Message, nil
}

// Again takes a signal in each of n runs, and returns how many there were from the last.
func Again(ctx context.Context, left []string) ([]string, error) {
	note, err := reprise.Signal[string](ctx, "note")
	if err != nil {
		return nil, err
	}
	if left = append(left, note); len(left) < 3 {
		return nil, reprise.ContinueAsNew(left)
	}
	return left, nil
}
