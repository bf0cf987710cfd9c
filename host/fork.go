package host

import (
	"context"
	"errors"
	"fmt"

	"reprise/host/internal/exec"
	"reprise/journal"
	"reprise/tenant"
)

// Fork starts a copy of a run, open or ended. It returns the run in the way with the error when the key is taken by an open run, or the
// idempotency key by another request.
func (h *Host) Fork(ctx context.Context, t tenant.ID, id journal.RunID, req ForkRun) (journal.Run, bool, error) {
	for _, f := range []struct{ name, value string }{{"key", req.Key}, {"idempotency key", req.IdempotencyKey}} {
		if err := checkText(f.name, f.value); err != nil {
			return journal.Run{}, false, err
		}
	}
	if req.Entries < 0 {
		return journal.Run{}, false, forkError(exec.ErrForkAt, id)
	}
	from, err := h.cfg.Store.Run(ctx, t, id)
	if err != nil {
		return journal.Run{}, false, runError(err, id)
	}
	r := journal.Run{Tenant: t, ID: journal.NewRunID(), Key: req.Key, IdempotencyKey: req.IdempotencyKey, Workflow: from.Workflow, Digest: from.Digest, Entry: from.Entry, Input: from.Input}
	f, err := h.turner.Fork(ctx, from, r.ID, req.Entries)
	if err != nil {
		return journal.Run{}, false, forkError(err, id)
	}
	run, created, err := h.cfg.Store.Fork(ctx, r, f)
	switch {
	case errors.Is(err, journal.ErrConflict):
		return run, false, startConflict(StartRun{Key: req.Key, IdempotencyKey: req.IdempotencyKey}, run, err)
	case err != nil:
		return journal.Run{}, false, forkError(moduleError(err, string(r.Digest)), id)
	}
	return run, created, nil
}

// forkError says why a run has no copy.
func forkError(err error, id journal.RunID) error {
	var pipeline *exec.PipelineError
	switch {
	case errors.Is(err, exec.ErrForkAt), errors.Is(err, journal.ErrState):
		return &Error{Kind: Conflict, Code: "fork_position", What: fmt.Sprintf("the copy would have no entry, more than the run has, or its end: %v", err), Where: id.String(),
			Fix: "name an entry that reprise run journal shows, before the run's end", Err: err}
	case errors.As(err, &pipeline):
		return &Error{Kind: Conflict, Code: "pipeline_changed", What: pipeline.Error(), Where: id.String(), Fix: "fork it on a host of the version that it began on", Err: err}
	}
	return runError(err, id)
}
