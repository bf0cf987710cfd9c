package journal

import (
	"context"
	"time"

	"reprise/tenant"
)

// Retention says how long finished runs are kept after they ended, by the database's clock. 0 keeps them for ever.
type Retention struct {
	Completed time.Duration // also of continued runs
	Failed    time.Duration // also of those that timed out
	Cancelled time.Duration // also of terminated runs
}

// Of is the retention of runs that ended in a state; 0 of every other state.
func (r Retention) Of(s State) time.Duration {
	switch s {
	case Completed, Continued:
		return r.Completed
	case Failed, TimedOut:
		return r.Failed
	case Cancelled, Terminated:
		return r.Cancelled
	}
	return 0
}

// Pruned says what one call removed.
type Pruned struct {
	Runs     int   // finished runs, that nobody finds any more
	Rows     int   // of the journals, inboxes and published values of these and of those that were removed before
	Payloads int   // large payloads that no row named any more
	Bytes    int64 // that these took in the database
	More     bool  // whether more is there to be removed now
}

// Pruner removes what is not kept any longer. It never touches a run that has not ended.
type Pruner interface {
	// Prune removes at most limit runs that ended longer ago than r keeps them, those that ended first before others in the same
	// state. From then on such a run is not found, as if it had never been: its id, key and idempotency key may be
	// used again. Its rows follow, some thousands in a call, also without a limit or retention; and
	// large payloads that no row names any more, not before a while after they were named last. Any number of calls may go on at the same time.
	Prune(ctx context.Context, r Retention, limit int) (Pruned, error)
	// DeleteRun removes a run that has ended, in the same way. Returns ErrNotFound, and ErrState when it is open.
	DeleteRun(ctx context.Context, t tenant.ID, run RunID) error
}
