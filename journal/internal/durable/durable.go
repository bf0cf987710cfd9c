// Package durable owns the names of the durable steps of a journal store, as failpoints, so that the
// crash matrix is the same for every store. It writes nothing itself; each store passes the point
// before a step just before it asks its database to commit, and the point after it when the commit
// has been acknowledged and the caller has not been told yet.
package durable

import (
	"reprise/internal/failpoint"
	"reprise/journal"
)

// The points around each durable step, two a step.
var (
	CreateBefore = failpoint.New("store.create.before")
	CreateAfter  = failpoint.New("store.create.after")
	SignalBefore = failpoint.New("store.signal.before")
	SignalAfter  = failpoint.New("store.signal.after")
	CancelBefore = failpoint.New("store.cancel.before")
	CancelAfter  = failpoint.New("store.cancel.after")
	ResumeBefore = failpoint.New("store.resume.before")
	ResumeAfter  = failpoint.New("store.resume.after")
	ClaimBefore  = failpoint.New("store.claim.before") // passed only when something is claimed
	ClaimAfter   = failpoint.New("store.claim.after")

	AppendBefore  = failpoint.New("store.commit.append.before") // entries, and the lease is kept
	AppendAfter   = failpoint.New("store.commit.append.after")
	StashBefore   = failpoint.New("store.commit.stash.before") // no entries, and the lease is kept
	StashAfter    = failpoint.New("store.commit.stash.after")
	SuspendBefore = failpoint.New("store.commit.suspend.before") // the lease is given up, the run is open
	SuspendAfter  = failpoint.New("store.commit.suspend.after")
	FinishBefore  = failpoint.New("store.commit.finish.before") // the run becomes terminal
	FinishAfter   = failpoint.New("store.commit.finish.after")

	DeleteBefore = failpoint.New("store.delete.before")
	DeleteAfter  = failpoint.New("store.delete.after")
	PruneBefore  = failpoint.New("store.prune.before") // on SQLite passed only when runs are removed
	PruneAfter   = failpoint.New("store.prune.after")  // passed only when runs were removed
	HoldBefore   = failpoint.New("store.hold.before")  // on SQLite passed only when runs are paused
	HoldAfter    = failpoint.New("store.hold.after")   // passed only when runs were paused

	ModuleBefore = failpoint.New("store.module.before")
	ModuleAfter  = failpoint.New("store.module.after")
	AliasBefore  = failpoint.New("store.alias.before")
	AliasAfter   = failpoint.New("store.alias.after")
)

// Commit gives the points around the commit of a batch, which depend on what the batch does.
func Commit(b journal.Batch) (before, after *failpoint.Point) {
	switch {
	case b.Next != nil && b.Next.State.Terminal():
		return FinishBefore, FinishAfter
	case b.Next != nil:
		return SuspendBefore, SuspendAfter
	case len(b.Entries) > 0:
		return AppendBefore, AppendAfter
	}
	return StashBefore, StashAfter
}
