package host

import (
	"context"
	"errors"
	"fmt"

	"reprise/abi"
	"reprise/host/internal/exec"
	"reprise/host/internal/sandbox"
	"reprise/modules"
)

// CheckReport is what Check found of a module.
type CheckReport struct {
	// Refused says why a host would not take the module, nil when it would.
	Refused *modules.RefusedError
	// Module is what its bytes say. For a module that is refused it goes as far as the check came.
	Module modules.Report
	// Manifest is what it says of itself, empty for one that is refused.
	Manifest abi.Manifest
	// Image says what its instances begin from.
	Image ImageReport
}

// ImageReport says how instances of a module are made.
type ImageReport struct {
	Kind string
	Why  string
}

// Check does with a module what PushModule does before it stores it: it prepares it, compiles it and asks it to describe
// itself. It needs no store and keeps nothing; of cfg only Compiler and CacheDir matter. Who vouches for the module is
// not its affair. An error is the host's own trouble; what is wrong with the module is in the report.
func Check(ctx context.Context, cfg Config, bytes []byte) (CheckReport, error) {
	var r CheckReport
	p, report, err := modules.Inspect(ctx, bytes)
	r.Module = report
	if err != nil {
		return r.refuse(err)
	}
	engine, describer, err := newEngines(ctx, cfg)
	if err != nil {
		return r, err
	}
	r.Manifest, err = admit(ctx, engine, describer, p)
	// What a guest was given to compute in is released whatever came of it.
	closing := errors.Join(engine.Close(context.WithoutCancel(ctx)), describer.Close(context.WithoutCancel(ctx)))
	if err != nil {
		return r.refuse(err)
	}
	return r, closing
}

// refuse tells what is wrong with a module from what is wrong with the host.
func (r CheckReport) refuse(err error) (CheckReport, error) {
	if errors.As(err, &r.Refused) {
		return r, nil
	}
	return r, fmt.Errorf("check module %s: %w", r.Module.Digest.Short(), err)
}

// newEngines makes the engine that runs guests and the one that asks modules for their manifest, which can be stopped at any
// point.
func newEngines(ctx context.Context, cfg Config) (engine, describer *sandbox.Engine, err error) {
	if engine, err = sandbox.New(ctx, sandbox.Config{CacheDir: cfg.CacheDir, Compiler: cfg.Compiler}); err != nil {
		return nil, nil, fmt.Errorf("host: %w", err)
	}
	if describer, err = sandbox.New(ctx, sandbox.Config{Interpret: true, MaxModules: 1}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("host: %w", err), engine.Close(ctx))
	}
	return engine, describer, nil
}

// admit compiles a prepared module and asks it to describe itself. A module that it refuses is not taken.
func admit(ctx context.Context, engine, describer *sandbox.Engine, p *modules.Prepared) (abi.Manifest, error) {
	if _, err := engine.Load(ctx, p); err != nil {
		return abi.Manifest{}, err
	}
	dctx, cancel := context.WithTimeout(ctx, describeFor)
	defer cancel()
	return exec.Describe(dctx, describer, p)
}
