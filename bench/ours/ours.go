// Package ours runs Reprise inside the benchmark's process, as an application that embeds it does.
package ours

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"reprise/bench/harness"
	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// Ours is a host on a store.
type Ours struct {
	host    *host.Host
	store   journal.Store
	variant string
}

// The variants say what a step is.
const (
	// Effect: what the host does for the guest.
	Effect = "effect"
	// Activity: code of the guest, in an instance of its own.
	Activity = "activity"
	// ByHand: an effect, by a guest that reads its input as a number and has no parallel steps.
	ByHand = "by hand"
)

// workflow is the name that the guest is pushed under.
const workflow = "steps"

// maxRunning is the least number of runs that a host has room for here.
const maxRunning = 64

// Open is a harness.Open.
func Open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	hello := harness.Hello{System: "Reprise", Settings: "room for as many runs as are in flight, compiled modules kept in a folder"}
	module, err := os.ReadFile(o.Guest)
	if err != nil {
		return nil, hello, fmt.Errorf("guest: %w", err)
	}
	store, err := openStore(ctx, o)
	if err != nil {
		return nil, hello, err
	}
	s, err := start(ctx, store, module, o)
	if err != nil {
		return nil, hello, fmt.Errorf("%w (close: %v)", err, store.Close())
	}
	return s, hello, nil
}

func openStore(ctx context.Context, o harness.Options) (journal.Store, error) {
	if o.SQLite != "" {
		return sqlite.Open(ctx, sqlite.Config{Path: o.SQLite})
	}
	return postgres.Open(ctx, postgres.Config{DSN: o.DSN})
}

func start(ctx context.Context, store journal.Store, module []byte, o harness.Options) (*Ours, error) {
	result, err := json.Marshal(string(harness.Payload))
	if err != nil {
		return nil, err
	}
	nothing := effect.Effect{Handler: effect.HandlerFunc(func(context.Context, effect.Request) ([]byte, error) { return result, nil })}
	room := max(o.InFlight, maxRunning)
	h, err := host.New(host.Config{Store: store, Effects: effect.Registry{"test.step": nothing}, MaxRunning: room, MaxRunningPerTenant: room, DrainTimeout: time.Millisecond,
		CacheDir: filepath.Join(o.Dir, "modules")})
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		return nil, err
	}
	if _, err := h.PushModule(ctx, tenant.Default, workflow, module, ""); err != nil {
		return nil, err
	}
	return &Ours{host: h, store: store, variant: o.Variant}, nil
}

// input is what the guests of folder guests read.
type input struct {
	harness.Work
	Activity bool `json:"activity"`
}

// Run is part of harness.System.
func (o *Ours) Run(ctx context.Context, w harness.Work) error {
	in := strconv.AppendInt(nil, int64(w.Steps), 10)
	if o.variant != ByHand {
		var err error
		if in, err = json.Marshal(input{w, o.variant == Activity}); err != nil {
			return err
		}
	}
	run, _, err := o.host.StartRun(ctx, tenant.Default, host.StartRun{Workflow: workflow, Input: in})
	if err != nil {
		return err
	}
	if run, err = o.host.Result(ctx, tenant.Default, run.ID, time.Minute); err != nil {
		return err
	}
	if run.State != journal.Completed || len(run.Output) < len(harness.Payload) {
		return fmt.Errorf("run %s is %s with %d bytes: %s", run.ID, run.State, len(run.Output), run.Reason)
	}
	return nil
}

// Close is part of harness.System.
func (o *Ours) Close() error {
	if err := o.host.Stop(context.Background()); err != nil {
		return err
	}
	return o.store.Close()
}
