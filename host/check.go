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

// The kinds of image.
const (
	// ImageWarm is taken after the module's initialisation, which runs once and not in each instance.
	ImageWarm = "warm"
	// ImageFresh is of the module's data; what it wants to be called before its entry runs in each instance.
	ImageFresh = "fresh"
)

// ImageReport says what instances of a module begin from.
type ImageReport struct {
	Kind  string
	Why   string // why it is fresh though there is an initialisation
	Bytes int64  // of memory that an instance begins with
}

// Check does with a module what PushModule does before it stores it: it prepares it, compiles it, makes its image and asks
// it to describe itself. It needs no store and keeps nothing; of cfg only Compiler, CacheDir and Memory matter. Who vouches
// for the module is not its affair. An error is the host's own trouble; what is wrong with the module is in the report.
func Check(ctx context.Context, cfg Config, bytes []byte) (CheckReport, error) {
	var r CheckReport
	p, report, err := modules.Inspect(ctx, bytes)
	r.Module = report
	if err != nil {
		return r.refuse(err)
	}
	engine, err := newEngine(ctx, cfg)
	if err != nil {
		return r, err
	}
	r.Manifest, r.Image, err = admit(ctx, engine, p)
	// What a guest was given to compute in is released whatever came of it.
	closing := engine.Close(context.WithoutCancel(ctx))
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

// newEngine makes the engine that runs guests.
func newEngine(ctx context.Context, cfg Config) (*sandbox.Engine, error) {
	engine, err := sandbox.New(ctx, sandbox.Config{CacheDir: cfg.CacheDir, Compiler: cfg.Compiler, Memory: cfg.Memory, Interpreted: cfg.Interpreted})
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return engine, nil
}

// admit compiles a prepared module, makes its image and asks it to describe itself. A module that it refuses is not
// taken.
func admit(ctx context.Context, engine *sandbox.Engine, p *modules.Prepared) (abi.Manifest, ImageReport, error) {
	m, err := engine.Load(ctx, p)
	if err != nil {
		return abi.Manifest{}, ImageReport{}, err
	}
	image := ImageReport{Kind: ImageFresh}
	if image.Bytes, image.Why = m.Image(); m.Warm() {
		image.Kind = ImageWarm
	}
	dctx, cancel := context.WithTimeout(ctx, describeFor)
	defer cancel()
	manifest, err := exec.Describe(dctx, engine, p)
	return manifest, image, err
}
