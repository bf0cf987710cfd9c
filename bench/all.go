package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise/bench/harness"
)

// allFlags are the flags of all.
type allFlags struct {
	rounds  int
	seconds float64
	systems string
	cells   string
	keep    bool
}

func parseAll(args []string) (f allFlags, err error) {
	flags := flag.NewFlagSet("bench all", flag.ContinueOnError)
	flags.IntVar(&f.rounds, "rounds", 3, "how often each cell is measured; the medians count")
	flags.Float64Var(&f.seconds, "seconds", 3, "how long a cell is measured")
	flags.StringVar(&f.systems, "systems", "", "only systems whose names start with one of these, separated by commas")
	flags.StringVar(&f.cells, "cells", "", "only these cells, separated by commas: "+strings.Join(cellNames(), ", "))
	flags.BoolVar(&f.keep, "keep", false, "add to what the last runs measured on this machine")
	return f, flags.Parse(args)
}

// part is a cell with a name.
type part struct {
	name string
	cell harness.Cell
}

// parts are what is measured of every system.
func parts() []part {
	sequential := func(steps, inFlight int) part {
		return part{fmt.Sprintf("%dx%d", steps, inFlight), harness.Cell{Work: harness.Work{Steps: steps}, InFlight: inFlight}}
	}
	return []part{
		sequential(1, 1), sequential(1, 64), sequential(1, 512),
		sequential(10, 1), sequential(10, 64), sequential(10, 512),
		{"fan-out", harness.Cell{Work: harness.Work{Steps: 100, Parallel: true}, InFlight: 8}},
		{"cost", harness.Cell{Work: harness.Work{Steps: 10}, InFlight: 64, Workflows: costWorkflows}},
	}
}

func cellNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// record is a line of the results.
type record struct {
	System   string `json:"system"`
	Cell     string `json:"cell,omitempty"`
	Version  string `json:"version,omitempty"`
	Settings string `json:"settings,omitempty"`
	Steps    int    `json:"steps,omitempty"`
	harness.Result
	Cost *cost `json:"cost,omitempty"`
	// Round counts the rounds of all runs whose results are kept.
	Round int `json:"round"`
	// Missing says in words why there is no figure.
	Missing string `json:"missing,omitempty"`
}

const results = "results.jsonl"

// all measures everything in rounds: one cell of every system in turn, then the next cell, so that what is compared is
// measured within the same minute.
func (b *bench) all(ctx context.Context, f allFlags) error {
	path := filepath.Join(b.cache, results)
	var records []record
	if f.keep {
		var err error
		if records, err = readRecords(path); err != nil {
			return err
		}
	}
	first := 0
	for _, r := range records {
		first = max(first, r.Round+1)
	}
	var systems []prepared
	for _, s := range everything {
		if !selected(f.systems, s.name, strings.HasPrefix) {
			continue
		}
		p, err := b.prepare(ctx, s)
		if err != nil {
			records = append(records, record{System: s.name, Round: first, Missing: err.Error()})
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		systems = append(systems, p)
	}
	for round := first; round < first+f.rounds; round++ {
		for _, part := range parts() {
			if !selected(f.cells, part.name, func(name, want string) bool { return name == want }) {
				continue
			}
			for _, s := range systems {
				if s.skips != nil && s.skips(part.cell) {
					continue
				}
				r := b.record(ctx, s, part, f.seconds)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				r.Round = round
				records = append(records, r)
				// Written each time, so that what was measured stays when the run is ended.
				if err := errors.Join(print(r), writeRecords(path, records)); err != nil {
					return err
				}
			}
		}
	}
	return writeDocs(filepath.Join("..", "docs"), records)
}

// selected says whether a name is one of a list; an empty list has all.
func selected(list, name string, is func(name, want string) bool) bool {
	return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(want string) bool { return is(name, want) })
}

// record measures one cell of a system. A failure is a record, too.
func (b *bench) record(ctx context.Context, s prepared, part part, seconds float64) record {
	r := record{System: s.name, Cell: part.name, Steps: part.cell.Steps}
	cell := part.cell
	if cell.Workflows == 0 {
		cell.Seconds, cell.Warm = seconds, max(0.3, seconds/3)
	}
	child, err := b.open(ctx, s, cell.InFlight)
	if err == nil {
		r.Version, r.Settings = child.hello.Version, child.hello.Settings
		if cell.Workflows > 0 {
			r.Result, r.Cost, err = b.cost(ctx, s, child, cell)
		} else {
			r.Result, err = child.Measure(ctx, cell)
		}
		child.Close()
	}
	if err != nil {
		r.Missing = err.Error()
	}
	return r
}

func readRecords(path string) ([]record, error) {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records []record
	for d := json.NewDecoder(strings.NewReader(string(content))); d.More(); {
		var r record
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		records = append(records, r)
	}
	return records, nil
}

func writeRecords(path string, records []record) error {
	var content strings.Builder
	e := json.NewEncoder(&content)
	for _, r := range records {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(content.String()), 0o644)
}

// today is the month of the documentation's figures.
func today() string { return time.Now().Format("January 2006") }
