// Command bench measures Reprise against the bare database, in one run on one machine. It prints one JSON object a line.
//
//	go run . quick    within a minute: steps a second at 512 workflows in flight, latency at one
//
// See docs/BENCHMARKS.md for what the figures mean.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"reprise/bench/floor"
	"reprise/bench/harness"
	"reprise/bench/ours"
	"reprise/internal/pgserver"
	"reprise/journal/postgres"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != "quick" {
		fmt.Fprintln(os.Stderr, "usage: bench quick")
		os.Exit(2)
	}
	debug.SetGCPercent(gcPercent)
	if err := quick(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// gcPercent is what the program reprise sets for a heap of this size, for all systems that are measured in this process.
const gcPercent = 400

// rounds is how often each cell is measured; systems take turns, and the medians count.
const rounds = 3

// guest makes effects one after the other; it is written by hand, so that what is measured is the host.
var guest = filepath.Join("..", "testdata", "wasm", "steps.wasm")

// figures are what quick prints.
type figures struct {
	// StepsPerS is durable steps a second with 512 workflows of 10 steps in flight.
	StepsPerS float64 `json:"steps_per_s"`
	// FloorRatio is StepsPerS as a part of the floor's, in the same round.
	FloorRatio float64 `json:"floor_ratio"`
	// FloorIndexedRatio is StepsPerS as a part of what the floor does with a server that is kept from reading tables whole.
	FloorIndexedRatio float64 `json:"floor_indexed_ratio"`
	// NaiveRatio is StepsPerS in terms of one transaction a write.
	NaiveRatio float64 `json:"naive_ratio"`
	// P50MS is the time from start to result of a workflow of one step, alone, in milliseconds.
	P50MS float64 `json:"p50_ms"`
	// P50FloorRatio is P50MS in terms of the floor's.
	P50FloorRatio float64 `json:"p50_floor_ratio"`
}

func quick(ctx context.Context) error {
	server, err := pgserver.New(pgserver.Options{Durable: true})
	if err != nil {
		return err
	}
	defer server.Close()
	b := &bench{server: server}
	many := harness.Cell{Steps: 10, InFlight: 512, Warm: time.Second, For: 2500 * time.Millisecond}
	one := harness.Cell{Steps: 1, InFlight: 1, Warm: 300 * time.Millisecond, For: time.Second}
	var f struct{ steps, floor, indexed, naive, p50, p50Floor []float64 }
	for range rounds {
		var ofOurs, ofFloor, ofIndexed, ofNaive, alone, aloneFloor harness.Result
		for _, m := range []struct {
			system string
			cell   harness.Cell
			to     *harness.Result
		}{{"reprise", many, &ofOurs}, {"floor", many, &ofFloor}, {"floor_indexed", many, &ofIndexed}, {"naive", many, &ofNaive}, {"reprise", one, &alone}, {"floor", one, &aloneFloor}} {
			if *m.to, err = b.measure(ctx, m.system, m.cell); err != nil {
				return fmt.Errorf("%s: %w", m.system, err)
			}
		}
		steps := ofOurs.StepsPerSecond(many)
		f.steps = append(f.steps, steps)
		f.floor = append(f.floor, steps/ofFloor.StepsPerSecond(many))
		f.indexed = append(f.indexed, steps/ofIndexed.StepsPerSecond(many))
		f.naive = append(f.naive, steps/ofNaive.StepsPerSecond(many))
		f.p50 = append(f.p50, alone.P50)
		f.p50Floor = append(f.p50Floor, alone.P50/aloneFloor.P50)
	}
	return b.print(figures{StepsPerS: harness.Median(f.steps), FloorRatio: harness.Median(f.floor), FloorIndexedRatio: harness.Median(f.indexed), NaiveRatio: harness.Median(f.naive),
		P50MS: harness.Median(f.p50), P50FloorRatio: harness.Median(f.p50Floor)})
}

// bench is one run of the program.
type bench struct {
	server *pgserver.Server
	made   int
}

// measured is a line about one cell.
type measured struct {
	System     string  `json:"system"`
	Steps      int     `json:"steps"`
	InFlight   int     `json:"in_flight"`
	WorkflowsS float64 `json:"workflows_per_s"`
	StepsS     float64 `json:"cell_steps_per_s"`
	P50MS      float64 `json:"cell_p50_ms"`
	P99MS      float64 `json:"cell_p99_ms"`
}

// measure gives a system a database of its own and measures one cell.
func (b *bench) measure(ctx context.Context, system string, c harness.Cell) (harness.Result, error) {
	dsn, err := b.database(ctx)
	if err != nil {
		return harness.Result{}, err
	}
	var s harness.System
	switch system {
	case "reprise":
		store, serr := postgres.Open(ctx, postgres.Config{DSN: dsn})
		if serr != nil {
			return harness.Result{}, serr
		}
		s, err = ours.New(ctx, store, guest, c.InFlight)
	default:
		s, err = floor.New(ctx, dsn, system != "naive", system == "floor_indexed")
	}
	if err != nil {
		return harness.Result{}, err
	}
	r, err := harness.Measure(ctx, s, c)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return r, err
	}
	return r, b.print(measured{System: system, Steps: c.Steps, InFlight: c.InFlight, WorkflowsS: r.WorkflowsPerSecond(), StepsS: r.StepsPerSecond(c), P50MS: r.P50, P99MS: r.P99})
}

func (b *bench) print(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
