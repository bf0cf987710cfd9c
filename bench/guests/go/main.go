// Command go is the benchmark's workflow in Go: steps that do nothing, as effects of the host or as activities of this module.
// It returns what the last step returned.
package main

import (
	"context"
	"strings"

	"reprise/guest-sdk/go"
)

// Work is the input.
type Work struct {
	Steps    int  `json:"steps"`
	Parallel bool `json:"parallel"`
	Activity bool `json:"activity"`
}

var payload = strings.Repeat("....5....|", 10)

var step = reprise.NewActivity("step", func(context.Context, int) (string, error) { return payload, nil }, reprise.ActivityOptions{})

func init() { reprise.Workflow("steps", Steps) }

func main() { reprise.Main() }

func begin(ctx context.Context, activity bool) *reprise.Future[string] {
	if activity {
		return step.Start(ctx, 1)
	}
	return reprise.StartEffect[string](ctx, "test.step", 1, reprise.EffectOptions{})
}

// Steps is the workflow.
func Steps(ctx context.Context, w Work) (last string, err error) {
	var begun []*reprise.Future[string]
	for i := 0; w.Parallel && i < w.Steps; i++ {
		begun = append(begun, begin(ctx, w.Activity))
	}
	for i := range w.Steps {
		if !w.Parallel {
			begun = append(begun, begin(ctx, w.Activity))
		}
		if last, err = begun[i].Get(ctx); err != nil {
			return "", err
		}
	}
	return last, nil
}
