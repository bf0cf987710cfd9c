package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"reprise/bench/floor"
	"reprise/bench/harness"
	"reprise/bench/ours"
)

// system is one that is measured.
type system struct {
	name    string
	store   store
	variant string
	// peer is the folder under peers, if it is not of this program.
	peer string
	// guest is the workflow's module for Reprise: a file of testdata/wasm, or what is built from folder guests.
	guest string
	// npm is the package with the server's program, of which package.json in the peer's folder has the version.
	npm string
	// skips says that a cell is not for this system.
	skips func(harness.Cell) bool
}

type store string

const (
	postgres store = "Postgres"
	sqlite   store = "SQLite"
	own      store = "its own"
)

var (
	byHand       = system{name: "reprise", guest: "steps.wasm", variant: ours.ByHand, store: postgres, skips: func(c harness.Cell) bool { return c.Parallel }}
	group        = system{name: "floor", variant: floor.Grouped, store: postgres}
	groupIndexed = system{name: "floor_indexed", variant: floor.Indexed, store: postgres}
	naive        = system{name: "naive", variant: floor.Naive, store: postgres}
	dbos         = system{name: "dbos", peer: "dbos", store: postgres}
	restate      = system{name: "restate", peer: "restate", store: own, npm: "@restatedev/restate-server-linux-x64/bin/restate-server"}
)

// everything is what all measures, best first.
var everything = []system{
	group, groupIndexed, naive, byHand,
	{name: "reprise C effect", guest: "steps.c", variant: ours.Effect, store: postgres},
	{name: "reprise C activity", guest: "steps.c", variant: ours.Activity, store: postgres},
	{name: "reprise Go effect", guest: "go", variant: ours.Effect, store: postgres},
	{name: "reprise Go activity", guest: "go", variant: ours.Activity, store: postgres},
	{name: "reprise TypeScript effect", guest: "steps.ts", variant: ours.Effect, store: postgres},
	{name: "reprise TypeScript activity", guest: "steps.ts", variant: ours.Activity, store: postgres},
	dbos, restate,
	{name: "temporal", peer: "temporal", store: postgres},
	{name: "temporal, local activities", peer: "temporal", store: postgres, variant: "local"},
	{name: "reprise C effect, SQLite", guest: "steps.c", variant: ours.Effect, store: sqlite},
	{name: "dbos, SQLite", peer: "dbos", store: sqlite},
	{name: "go-workflows, SQLite", peer: "goworkflows", store: sqlite},
}

// prepared is a system whose program, guest and server are there.
type prepared struct {
	system
	program string
	args    []string
	options harness.Options
}

// prepare builds what a system needs, if it is not there. A peer is built anew when its sources are newer.
func (b *bench) prepare(ctx context.Context, s system) (prepared, error) {
	p := prepared{system: s, options: harness.Options{Variant: s.variant}}
	var err error
	switch {
	case s.peer != "":
		p.program = filepath.Join(b.cache, s.peer)
		if err = command(ctx, filepath.Join("peers", s.peer), "go", "build", "-o", p.program, "."); err == nil && s.npm != "" {
			p.options.Server, err = b.fetchServer(ctx, s)
		}
	case s.guest != "":
		p.program, p.args = b.self, []string{"reprise"}
		p.options.Guest, err = b.module(ctx, s.guest)
	default:
		p.program, p.args = b.self, []string{"floor"}
	}
	if err != nil {
		return p, fmt.Errorf("%s cannot be had: %w", s.name, err)
	}
	return p, nil
}

// module gives a guest's file.
func (b *bench) module(ctx context.Context, guest string) (string, error) {
	if strings.HasSuffix(guest, ".wasm") {
		return filepath.Abs(filepath.Join("..", "testdata", "wasm", guest))
	}
	builder := filepath.Join(b.cache, "reprise")
	if err := command(ctx, "..", "go", "build", "-o", builder, "./cmd/host"); err != nil {
		return "", err
	}
	to := filepath.Join(b.cache, strings.ReplaceAll(guest, ".", "-")+".wasm")
	args := []string{"build", "-o", to}
	if engine, err := filepath.Abs(filepath.Join("..", "bin", "engine-js.wasm")); err == nil && filepath.Ext(guest) == ".ts" {
		args = append(args, "--engine", engine)
	}
	return to, command(ctx, ".", builder, append(args, filepath.Join("guests", guest))...)
}

// fetchServer installs the npm package that has the system's server and gives its program.
func (b *bench) fetchServer(ctx context.Context, s system) (string, error) {
	dir := filepath.Join(b.cache, s.peer+"-server")
	program := filepath.Join(dir, "node_modules", filepath.FromSlash(s.npm))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("peers", s.peer, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return "", err
		}
	}
	if err := command(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return "", err
	}
	_, err := os.Stat(program)
	return program, err
}

// line is what is printed about one cell.
type line struct {
	System   string  `json:"system"`
	Steps    int     `json:"steps"`
	Parallel bool    `json:"parallel,omitempty"`
	InFlight int     `json:"in_flight"`
	WorkS    float64 `json:"workflows_per_s"`
	StepsS   float64 `json:"cell_steps_per_s"`
	P50MS    float64 `json:"cell_p50_ms"`
	P99MS    float64 `json:"cell_p99_ms"`
}

// opened is a system that runs, with a process and a database or folder of its own.
type opened struct {
	*harness.Child
	hello harness.Hello
	dsn   string
}

func (b *bench) open(ctx context.Context, p prepared, inFlight int) (opened, error) {
	o, err := b.place(ctx, p, inFlight)
	if err != nil {
		return opened{}, err
	}
	child, hello, err := harness.Start(ctx, nil, p.program, append(p.args, o.Args()...)...)
	return opened{child, hello, o.DSN}, err
}

// place makes the system's database or folder.
func (b *bench) place(ctx context.Context, p prepared, inFlight int) (o harness.Options, err error) {
	o = p.options
	o.InFlight = inFlight
	b.made++
	o.Dir = filepath.Join(b.tmp, fmt.Sprint(b.made))
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return o, err
	}
	switch p.store {
	case postgres:
		o.DSN, err = b.database(ctx)
	case sqlite:
		o.SQLite = filepath.Join(o.Dir, "db")
	}
	return o, err
}

// measure gives a system a process and a database of its own, measures one cell and prints it.
func (b *bench) measure(ctx context.Context, p prepared, c harness.Cell) (harness.Result, error) {
	child, err := b.open(ctx, p, c.InFlight)
	if err != nil {
		return harness.Result{}, fmt.Errorf("%s: %w", p.name, err)
	}
	defer child.Close()
	r, err := child.Measure(ctx, c)
	if err != nil {
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	return r, print(line{p.name, c.Steps, c.Parallel, c.InFlight, r.WorkflowsS, r.StepsS(c.Work), r.P50, r.P99})
}
