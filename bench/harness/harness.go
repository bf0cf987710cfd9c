// Package harness measures systems that run workflows, all in the same way: a fixed number of workflows is in flight, and
// when one has its result the next is started. It knows no system; the programs of folder bench call it.
package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Payload is what every step returns: 100 bytes.
var Payload = []byte("....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|")

// System runs workflows.
type System interface {
	// Run starts a workflow of so many sequential steps that do nothing, and returns when it has its result. Each step's
	// result and the workflow's are durable.
	Run(ctx context.Context, steps int) error
	// Close stops the system and removes what it left.
	Close() error
}

// Cell is what is measured at a time.
type Cell struct {
	Steps    int           // of each workflow, one after the other
	InFlight int           // workflows at a time
	Warm     time.Duration // before anything counts
	For      time.Duration // that counts
}

// Result is what a cell came to.
type Result struct {
	Workflows int64
	Seconds   float64
	// P50 and P99 are of the time from the start of a workflow to its result, in milliseconds.
	P50, P99 float64
}

// WorkflowsPerSecond is the rate of workflows that have their result.
func (r Result) WorkflowsPerSecond() float64 { return float64(r.Workflows) / r.Seconds }

// StepsPerSecond is the rate of their steps.
func (r Result) StepsPerSecond(c Cell) float64 { return r.WorkflowsPerSecond() * float64(c.Steps) }

// Measure runs a cell. The first workflow that fails ends it.
func Measure(ctx context.Context, s System, c Cell) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var counts atomic.Bool
	var ended atomic.Bool
	var mu sync.Mutex
	var times []time.Duration
	var wg sync.WaitGroup
	for range c.InFlight {
		wg.Go(func() {
			var mine []time.Duration
			for !ended.Load() {
				counted, start := counts.Load(), time.Now()
				if err := s.Run(ctx, c.Steps); err != nil {
					cancel(err)
					return
				}
				if counted && !ended.Load() {
					mine = append(mine, time.Since(start))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
		})
	}
	sleep(ctx, c.Warm)
	counts.Store(true)
	start := time.Now()
	sleep(ctx, c.For)
	took := time.Since(start)
	ended.Store(true)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if len(times) == 0 {
		return Result{}, fmt.Errorf("no workflow of %d steps ended within %s", c.Steps, c.For)
	}
	slices.Sort(times)
	return Result{Workflows: int64(len(times)), Seconds: took.Seconds(), P50: at(times, 50), P99: at(times, 99)}, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func at(sorted []time.Duration, percent int) float64 {
	return float64(sorted[(len(sorted)-1)*percent/100].Microseconds()) / 1000
}

// Median is the middle of some figures, 0 of none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}
