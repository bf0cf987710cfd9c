package exec

import (
	"context"
	"errors"
	"slices"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// mayHaveChildren refuses a child to who may not start one.
func (x *execution) mayHaveChildren() *abi.Failure {
	switch {
	case x.entry.Kind != abi.EntryWorkflow:
		return abi.NewFailure(abi.CodeMisuse, "only a workflow starts child runs, not %s", x.entry.Kind).Terminal()
	case x.run.Depth >= abi.MaxChildDepth:
		return abi.NewFailure(abi.CodeChildDepth, "the run is a child of a child, and so on, %d times, which is the limit", x.run.Depth).Terminal()
	}
	return nil
}

// childID is the id of an op's run.
func (r *recorder) childID(o *op) journal.RunID {
	return journal.ChildID(r.lease.Run, o.handle, o.issuedAt)
}

// launchChild starts a child run with the next commit, unless an earlier turn has. It leaves the op done when there is no
// such module.
func (r *recorder) launchChild(o *op) error {
	if r.started[o.handle] {
		o.launched, o.stashed = true, true
		return nil
	}
	if r.recover(o); o.done {
		return nil
	}
	child := journal.Run{Tenant: r.lease.Tenant, ID: r.childID(o), Entry: o.name, Input: o.request, ParentOp: o.handle, Abandoned: o.opts.Abandon}
	var err error
	child.Workflow, child.Digest, err = r.childModule(o.opts.Module)
	var refused *abi.Failure
	switch {
	case errors.As(err, &refused):
		r.arrive(journal.Arrival{ID: opID(o.handle), Kind: journal.ArrivalDone, Op: o.handle, Status: abi.Failed, Payload: refused.Encode(), At: r.t.cfg.Clock.Now()}, false)
		return nil
	case err != nil:
		return err
	}
	marker := journal.Arrival{ID: opID(o.handle), Kind: journal.ArrivalChild, Op: o.handle, Name: child.ID.String()}
	if child.Abandoned {
		marker.Payload = []byte(abandoned)
	}
	o.launched, o.stashed = true, true
	r.children, r.stash = append(r.children, child), append(r.stash, marker)
	return nil
}

// abandoned is the payload of the arrival that stands for a child which is not to be ended.
const abandoned = "abandon"

// childModule is what the options name: the run's own module, a digest, or what a workflow's name stands for now. Returns
// an *abi.Failure when there is none.
func (r *recorder) childModule(ref string) (workflow string, digest modules.Digest, err error) {
	run := r.x.run
	if ref == "" {
		return run.Workflow, run.Digest, nil
	}
	if d, err := modules.ParseDigest(ref); err == nil {
		err := r.persist(func(ctx context.Context) error {
			_, err := r.t.cfg.Store.Module(ctx, run.Tenant, d)
			return err
		})
		if errors.Is(err, modules.ErrNotFound) {
			err = abi.NewFailure(abi.CodeUnknownModule, "there is no module %s", d).Terminal()
		}
		return string(d), d, err
	}
	var alias modules.Alias
	err = r.persist(func(ctx context.Context) (err error) {
		alias, err = r.t.cfg.Store.Alias(ctx, run.Tenant, ref)
		return err
	})
	if errors.Is(err, modules.ErrNotFound) {
		err = abi.NewFailure(abi.CodeUnknownModule, "no workflow is named %.80q", ref).Terminal()
	}
	return ref, alias.Digest, err
}

// arriveChild takes in that an earlier turn has started a child. One that the guest has given up since is asked to end; one that it
// has not asked for yet will be, later in the replay.
func (r *recorder) arriveChild(a journal.Arrival, o *op) {
	if a.Op > r.x.m.issued || o != nil && o.pending() {
		if r.started == nil {
			r.started = map[int32]bool{}
		}
		r.started[a.Op] = true
		return
	}
	r.observed = append(r.observed, a.ID)
	if id, err := journal.ParseRunID(a.Name); err == nil && string(a.Payload) != abandoned {
		r.cancels = append(r.cancels, id)
	}
}

// endChild asks a child to end with the next commit.
func (r *recorder) endChild(o *op) {
	if r.lease != nil && !o.opts.Abandon {
		r.cancels = append(r.cancels, r.childID(o))
	}
}

// endChildren is the end of the run for its children: those that may go on without it do, also those that were not started yet, and
// the others are asked to end.
func (r *recorder) endChildren() error {
	for _, o := range r.x.m.pendingOps() {
		switch {
		case o.kind != journal.KindChild:
		case !o.opts.Abandon:
			r.endChild(o)
		case !o.launched:
			if err := r.launchChild(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// endBy is the transition that a terminal entry amounts to.
func (r *recorder) endBy(e journal.Entry) (*journal.Transition, error) {
	next := &journal.Transition{Parent: r.x.run.Parent != journal.RunID{}}
	switch e.Kind {
	case journal.KindCompleted:
		next.State, next.Output = journal.Completed, e.Payload
	case journal.KindCancelled:
		next.State, next.Failure, next.Reason = journal.Cancelled, e.Payload, reasonOf(e.Payload)
	case journal.KindContinued:
		s, err := r.successor(e)
		next.State, next.Successor, next.Parent = journal.Continued, s, false
		return next, err
	default:
		next.State, next.Failure, next.Reason = journal.Failed, e.Payload, reasonOf(e.Payload)
	}
	return next, nil
}

// successor is the run that goes on. It has the module that the workflow's name stands for now, so that a run that goes on for ever
// comes to a new version. One without the workflow is none.
func (r *recorder) successor(e journal.Entry) (*journal.Run, error) {
	run := r.x.run
	s := &journal.Run{Tenant: run.Tenant, ID: journal.SuccessorID(run.ID, e.At), Key: run.Key, Workflow: run.Workflow, Digest: run.Digest, Entry: run.Entry, Input: e.Payload}
	if s.Workflow == string(s.Digest) {
		return s, nil
	}
	err := r.persist(func(ctx context.Context) error {
		alias, err := r.t.cfg.Store.Alias(ctx, run.Tenant, run.Workflow)
		var mod modules.Module
		if err == nil {
			mod, err = r.t.cfg.Store.Module(ctx, run.Tenant, alias.Digest)
		}
		if errors.Is(err, modules.ErrNotFound) {
			return nil
		}
		if has := mod.Manifest.Workflows; err == nil && (len(has) == 0 || slices.Contains(has, run.Entry)) {
			s.Digest = alias.Digest
		}
		return err
	})
	return s, err
}
