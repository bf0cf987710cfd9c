// Package testkit owns how a module is tested without a host: it plays a run of it in memory, against effects and activities
// that the test answers, on a clock that passes over every wait. The turns are those of package exec and the journal is that of
// package journal/sqlite, so what a test sees is what a host does. What was played can be cut after each entry of its journal and carried on,
// as after a crash, and must come to the same end. The package never opens a file and asks the network for nothing. Tests
// written in Go and `reprise test` call it.
package testkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/abi"
	"reprise/host/internal/exec"
	"reprise/host/internal/sandbox"
	"reprise/modules"
)

// Config says how modules are compiled. The zero value compiles in this process and keeps nothing.
type Config struct {
	// CacheDir keeps compiled modules between processes; it is made with mode 0700.
	CacheDir string
	// Compiler is as host.Config has it.
	Compiler []string
}

// Kit compiles modules and plays them. Make it with New and close it.
type Kit struct{ engine *sandbox.Engine }

// New makes a kit.
func New(cfg Config) (*Kit, error) {
	engine, err := sandbox.New(context.Background(), sandbox.Config{CacheDir: cfg.CacheDir, Compiler: cfg.Compiler})
	if err != nil {
		return nil, fmt.Errorf("test kit: %w", err)
	}
	return &Kit{engine: engine}, nil
}

// Close releases what was compiled.
func (k *Kit) Close() error { return k.engine.Close(context.Background()) }

// Module is a module that can be played.
type Module struct {
	kit      *Kit
	bytes    []byte
	digest   modules.Digest
	manifest abi.Manifest
}

// describeFor bounds how long a module may take to say what it is.
const describeFor = 10 * time.Second

// Load takes a module as a host does at an upload. What is wrong with it is a *modules.RefusedError.
func (k *Kit) Load(ctx context.Context, bytes []byte) (*Module, error) {
	p, err := modules.Prepare(ctx, bytes)
	if err != nil {
		return nil, err
	}
	if _, err := k.engine.Load(ctx, p); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeFor)
	defer cancel()
	manifest, err := exec.Describe(ctx, k.engine, p)
	if err != nil {
		return nil, err
	}
	return &Module{kit: k, bytes: bytes, digest: p.Digest, manifest: manifest}, nil
}

// Manifest is what the module says of itself; empty when it says nothing.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// errStopped says that the test was stopped from outside, by its context.
var errStopped = errors.New("the test was stopped")
