package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A node's heap is small and short-lived, and its goroutines, one a run, have deep stacks, which each collection reads: with Go's
// default a node at full load spent a fifth of its time on collections, 20 a second. So the heap may grow to collectAt before
// the default takes over; a node with a large heap collects as any program does.
const (
	collectAt  = 96 << 20 // bytes
	collectMin = 100      // percent, Go's default
	collectMax = 800
)

// collectEvery is how often the heap is looked at.
const collectEvery = time.Second

// collectLess sets how often Go collects garbage, by the size of the heap, until ctx is done. A GOGC in the environment
// stands.
func collectLess(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectMax))
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	last := collectMax
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		metrics.Read(live)
		if p := collectPercent(live[0].Value.Uint64()); p != last {
			debug.SetGCPercent(p)
			last = p
		}
	}
}

// collectPercent lets a heap of so many live bytes grow to collectAt, in steps, so that it does not change all the time.
func collectPercent(live uint64) int {
	percent := collectMax
	for percent > collectMin && live/100*uint64(100+percent) > collectAt {
		percent /= 2
	}
	return max(percent, collectMin)
}
