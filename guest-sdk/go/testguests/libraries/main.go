// Command libraries uses what is not made for workflows and works in them: errgroup, a semaphore, log/slog.
package main

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"reprise/guest-sdk/go"
)

func init() {
	slog.SetDefault(reprise.Logger())
	reprise.Workflow("group", Group)
	reprise.Workflow("first-error", FirstError)
	reprise.Workflow("logs", Logs)
}

func main() { reprise.Main() }

// Group asks from a bounded number of goroutines.
func Group(ctx context.Context, n int) ([]int, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	weights := semaphore.NewWeighted(3)
	out := make([]int, n)
	for i := range out {
		g.Go(func() (err error) {
			if err := weights.Acquire(ctx, 2); err != nil {
				return err
			}
			defer weights.Release(2)
			out[i], err = reprise.Effect[int](ctx, "test.echo", i*i, reprise.EffectOptions{})
			return err
		})
	}
	return out, g.Wait()
}

// FirstError lets a request that never ends be given up by the failure of another.
func FirstError(ctx context.Context, _ any) (string, error) {
	g, ctx := errgroup.WithContext(ctx)
	var given error
	g.Go(func() error {
		_, given = reprise.Effect[any](ctx, "test.hang", nil, reprise.EffectOptions{})
		return given
	})
	g.Go(func() error {
		_, err := reprise.Effect[any](ctx, "test.fail", reprise.Failf("broken", "on purpose"), reprise.EffectOptions{})
		return err
	})
	err := g.Wait()
	return fmt.Sprint(err, ", ", given), nil
}

// Logs writes through the default logger.
func Logs(context.Context, any) (bool, error) {
	slog.Warn("by slog", "n", 1)
	slog.With("request", 7).Error("by slog, with attributes")
	return true, nil
}
