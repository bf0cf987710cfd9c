// Package ours runs Reprise inside the benchmark's process, as an application that embeds it does.
package ours

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"reprise/bench/harness"
	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/tenant"
)

// Ours is a host on a store.
type Ours struct {
	host  *host.Host
	store journal.Store
}

// workflow is the name that the guest is pushed under.
const workflow = "steps"

// New starts a host with a guest that makes as many effects, one after the other, as its input says. The guest is the
// module in a file.
func New(ctx context.Context, store journal.Store, guest string, inFlight int) (*Ours, error) {
	module, err := os.ReadFile(guest)
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	nothing := effect.Effect{Handler: effect.HandlerFunc(func(context.Context, effect.Request) ([]byte, error) { return harness.Payload, nil })}
	h, err := host.New(host.Config{Store: store, Effects: effect.Registry{"test.step": nothing}, MaxRunning: inFlight, MaxRunningPerTenant: inFlight})
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		return nil, err
	}
	if _, err := h.PushModule(ctx, tenant.Default, workflow, module, ""); err != nil {
		return nil, err
	}
	return &Ours{host: h, store: store}, nil
}

// Run is part of harness.System.
func (o *Ours) Run(ctx context.Context, steps int) error {
	run, _, err := o.host.StartRun(ctx, tenant.Default, host.StartRun{Workflow: workflow, Input: strconv.AppendInt(nil, int64(steps), 10)})
	if err != nil {
		return err
	}
	if run, err = o.host.Result(ctx, tenant.Default, run.ID, time.Minute); err != nil {
		return err
	}
	if run.State != journal.Completed || len(run.Output) != steps*len(harness.Payload) {
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
