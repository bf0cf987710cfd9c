// Command bench measures Reprise beside other systems that keep workflows and beside the bare database, in one run on one
// machine. Every system is a program of its own (package harness says how it is spoken to); those of Reprise and of the bare
// database are this program again. It prints one JSON object a line.
//
//	bench quick         about a minute: steps a second at 512 workflows in flight, latency at one
//	bench all [flags]   everything; writes docs/BENCHMARKS.md
//	bench recovery [N]  systems that are killed in the middle of a long workflow, until its next step
//
// See docs/BENCHMARKS.md for what the figures mean.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"reprise/bench/floor"
	"reprise/bench/harness"
	"reprise/bench/ours"
	"reprise/internal/pgserver"
)

func main() {
	if len(os.Args) < 2 {
		help()
	}
	args := os.Args[2:]
	switch os.Args[1] {
	case "reprise":
		harness.Main(args, ours.Open)
	case "floor":
		harness.Main(args, floor.Open)
	case "quick":
		run(func(ctx context.Context, b *bench) error { return b.quick(ctx) })
	case "all":
		flags, err := parseAll(args)
		if err != nil {
			os.Exit(2)
		}
		run(func(ctx context.Context, b *bench) error { return b.all(ctx, flags) })
	case "recovery":
		steps, err := histories(args)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		run(func(ctx context.Context, b *bench) error { return b.recovery(ctx, steps) })
	default:
		help()
	}
}

func help() {
	fmt.Fprintln(os.Stderr, "usage: bench quick | bench all [-rounds N] [-seconds S] [-systems LIST] | bench recovery [STEPS ...]")
	os.Exit(2)
}

func run(do func(context.Context, *bench) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := with(ctx, do); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the program.
type bench struct {
	server *pgserver.Server
	self   string // this program
	cache  string // what was built
	tmp    string // what goes with the run
	made   int    // databases and folders
}

func with(ctx context.Context, do func(context.Context, *bench) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cache, err := filepath.Abs(".cache")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	server, err := pgserver.New(pgserver.Options{Durable: true})
	if err != nil {
		return err
	}
	defer server.Close()
	return do(ctx, &bench{server: server, self: self, cache: cache, tmp: tmp})
}

// command runs a tool; its output is part of the error.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, errors.Join(context.Cause(ctx), err), last(out))
	}
	return nil
}

// last is the end of what a tool said.
func last(out []byte) []byte { return out[max(0, len(out)-500):] }

func print(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
