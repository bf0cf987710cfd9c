package exec

import (
	"context"
	"errors"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/modules"
)

// activity runs one attempt of an activity in a fresh instance. Its own effects leave at once, under keys
// made from the activity's, and are not recorded: only its outcome is.
func (a attempt) activity(ctx context.Context) ([]byte, error) {
	t, run := a.r.t, a.r.x.run
	if a.r.lease == nil {
		return nil, abi.NewFailure(abi.CodeMisuse, "an activity cannot run activities").Terminal()
	}
	digest, refusal, err := a.activityModule(ctx)
	if err != nil || refusal != nil {
		return nil, errors.Join(err, asError(refusal))
	}
	var mod program
	err = untilKnown(ctx, func() (err error) {
		mod, err = t.load(ctx, run.Tenant, digest)
		return err
	})
	var refused *modules.RefusedError
	switch {
	case errors.Is(err, modules.ErrNotFound):
		return nil, abi.NewFailure(abi.CodeUnknownModule, "there is no module %s", digest).Terminal()
	case errors.As(err, &refused):
		return nil, abi.NewFailure(abi.CodeUnknownModule, "%s", refused.Error()).Terminal()
	case err != nil:
		return nil, err
	}
	export, refusal := activityExport(mod.Prepared(), a.op.name)
	if refusal != nil {
		return nil, refusal
	}
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rec := newRecorder(rctx, t, nil, nil)
	pin := a.r.x.pin.attempt()
	log := t.cfg.Logger.With("run", run.ID.String(), "tenant", string(run.Tenant), "activity", a.op.name, "module", digest.Short(), "attempt", a.number)
	lines := newGuestLog(log, t.cfg.LogRate)
	x := &execution{run: run, digest: digest, pin: pin, m: newMachine([]byte(a.key())), rec: rec, idempotency: a.key(),
		entry: sandbox.Entry{Tenant: string(run.Tenant), Kind: abi.EntryActivity, Name: a.op.name, Input: a.op.request, Info: about(run, digest, a.number), Args: []string{a.op.name}, Limits: pin.Limits},
		log:   lines.write}
	x.m.limits = pin.Limits
	rec.x = x
	if err := x.begin(); err != nil {
		return nil, err
	}
	end := mod.Run(rctx, x, export)
	if errors.Is(end.Cause, sandbox.ErrPressure) && ctx.Err() == nil {
		cancel()               // what it has asked for
		return a.activity(ctx) // it waits for its room before it begins
	}
	lines.tell()
	x.warnUnlogged(log)
	var ended *endError
	switch {
	case errors.As(end.Cause, &ended):
		return nil, abi.DecodeFailure(ended.payload)
	case errors.Is(end.Cause, sandbox.ErrInterpreterDepth):
		return nil, abi.NewFailure(abi.CodeInternal, "interpreter_depth: %s", end.Cause) // on another node, maybe
	case end.Cause != nil:
		return nil, end.Cause
	case end.Failure != nil:
		return nil, end.Failure
	}
	return end.Output, nil
}

// untilKnown repeats a read of the store until it has an answer: that the database failed is not an
// outcome of the activity. The attempt's time bounds it.
func untilKnown(ctx context.Context, read func() error) error {
	for wait := persistFirst; ; wait = min(2*wait, persistLongest) {
		err := read()
		if err == nil || decided(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

func asError(f *abi.Failure) error {
	if f == nil {
		return nil
	}
	return f
}

// activityModule finds the digest that the options name: the run's own, a digest, or what a workflow
// name points at now.
func (a attempt) activityModule(ctx context.Context) (modules.Digest, *abi.Failure, error) {
	ref := a.op.opts.Module
	if ref == "" {
		return a.r.x.run.Digest, nil, nil
	}
	if d, err := modules.ParseDigest(ref); err == nil {
		return d, nil, nil
	}
	var alias modules.Alias
	err := untilKnown(ctx, func() (err error) {
		alias, err = a.r.t.cfg.Store.Alias(ctx, a.r.x.run.Tenant, ref)
		return err
	})
	if errors.Is(err, modules.ErrNotFound) {
		return "", abi.NewFailure(abi.CodeUnknownModule, "no workflow is named %.80q", ref).Terminal(), nil
	}
	return alias.Digest, nil, err
}

// activityExport is the function to call: one with the activity's name, else the module's own entry.
func activityExport(p *modules.Prepared, name string) (string, *abi.Failure) {
	if p.Entry(name) {
		return name, nil
	}
	if p.UsesDescribe || p.Shape == modules.Command {
		return "", nil
	}
	return "", abi.NewFailure("unknown_activity", "the module has no function %.80q of type () -> i32 or () -> ()", name).Terminal()
}
