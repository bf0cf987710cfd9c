package host

import (
	"context"
	"errors"

	"reprise/journal"
	"reprise/tenant"
)

// startTries bounds how often a start is tried again because its workflow's name was moved meanwhile.
const startTries = 3

// StartRun starts a run of a workflow. It returns the run in the way with the error when the key is taken
// by an open run, or the idempotency key by another request.
func (h *Host) StartRun(ctx context.Context, t tenant.ID, req StartRun) (journal.Run, bool, error) {
	if err := h.checkStart(req); err != nil {
		return journal.Run{}, false, err
	}
	for try := 1; ; try++ {
		run, created, err := h.start(ctx, t, req, try == startTries)
		if !errors.Is(err, journal.ErrMoved) {
			return run, created, err
		}
		h.known.forget(t, req.Workflow)
	}
}

// start makes the run: for this node when it has room, and then what is known of the workflow's name need not be new, for
// the store checks it; else, or when queue says so, for whichever node is first.
func (h *Host) start(ctx context.Context, t tenant.ID, req StartRun, queue bool) (run journal.Run, created bool, err error) {
	place, here := h.sched.Reserve(ctx, t)
	if here && queue {
		place.Release()
		here = false
	}
	used := false
	if here {
		defer func() {
			if !used {
				place.Release()
			}
		}()
	}
	r, err := h.newRun(ctx, t, req, here)
	if err != nil {
		return journal.Run{}, false, err
	}
	h.ended.begin(t, r.ID) // before it can end
	if here {
		first := h.turner.First(r)
		if run, created, err = h.cfg.Store.Begin(ctx, r, place.Node, first); err == nil && created && run.State == journal.Running {
			used = true
			place.Run(journal.Begun(run, first))
		}
	} else {
		run, created, err = h.cfg.Store.Create(ctx, r)
	}
	if err != nil || !created {
		h.ended.tell(r.ID, nil) // nobody can wait for it
	}
	switch {
	case errors.Is(err, journal.ErrMoved):
		return journal.Run{}, false, err
	case errors.Is(err, journal.ErrConflict):
		if sameStart(req, run) {
			return run, false, nil
		}
		return run, false, startConflict(req, run, err)
	case err != nil:
		return journal.Run{}, false, runError(moduleError(err, req.Workflow), r.ID)
	}
	return run, created, nil
}

// newRun is the run that a request asks for. trusted says that what was last known of the workflow's name will do; when it
// does not, newRun returns journal.ErrMoved.
func (h *Host) newRun(ctx context.Context, t tenant.ID, req StartRun, trusted bool) (journal.Run, error) {
	digest, known := h.known.alias(t, req.Workflow)
	known = known && trusted
	if !known {
		var err error
		if digest, err = h.resolve(ctx, t, req.Workflow); err != nil {
			return journal.Run{}, err
		}
		h.known.learn(t, req.Workflow, digest)
	}
	m, err := h.known.module(ctx, t, digest, h.cfg.Store.Module)
	if err != nil {
		return journal.Run{}, moduleError(err, req.Workflow)
	}
	entry, err := entryOf(m.Manifest, req)
	if err != nil && known {
		return journal.Run{}, journal.ErrMoved
	}
	return journal.Run{Tenant: t, ID: journal.NewRunID(), Key: req.Key, IdempotencyKey: req.IdempotencyKey,
		Workflow: req.Workflow, Digest: digest, Entry: entry, Input: req.Input}, err
}
