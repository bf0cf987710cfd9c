package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// block is called when nothing can be shown: it makes everything durable and waits in memory, or
// suspends the run when nothing in memory will happen soon.
func (r *recorder) block(w waitSet) error {
	wakeAt, timed := r.nextDue(w)
	inFlight, news := r.pendingWork()
	if news {
		return nil // it came after the last look
	}
	if r.lease != nil && inFlight == 0 {
		if r.draining() {
			return errReleased
		}
		if !timed || wakeAt.Sub(r.t.cfg.Clock.Now()) > r.t.cfg.HoldFor {
			return r.suspend(w, wakeAt)
		}
	}
	if err := r.flush(nil); err != nil {
		return err
	}
	if r.evict.Load() {
		r.resting = w
		return errEvicted
	}
	if s := r.t.cfg.Stage; s != nil {
		s.Rest(r.ctx, r.wake, wakeAt)
		if r.ctx.Err() != nil {
			return errAborted
		}
		return nil
	}
	var due <-chan time.Time
	if timed {
		timer := time.NewTimer(max(wakeAt.Sub(r.t.cfg.Clock.Now()), 0))
		defer timer.Stop()
		due = timer.C
	}
	drain := r.drain
	if inFlight > 0 {
		drain = nil // let it finish; the node bounds how long
	}
	select {
	case <-r.wake:
	case <-due:
	case <-drain:
	case <-r.ctx.Done():
		return errAborted
	}
	return nil
}

func (r *recorder) draining() bool {
	select {
	case <-r.drain:
		return true
	default:
		return false
	}
}

// nextDue is when something in memory happens by itself: a timer of the set, its deadline, or another
// attempt of any effect.
func (r *recorder) nextDue(w waitSet) (at time.Time, ok bool) {
	_, at, ok = w.nextTimer(r.x.m)
	if r.draining() {
		return at, ok // nothing more is launched here
	}
	for _, o := range r.x.m.pendingOps() {
		if !o.launched && !o.done && !o.retryAt.IsZero() && (!ok || o.retryAt.Before(at)) {
			at, ok = o.retryAt, true
		}
	}
	return at, ok
}

// suspend gives the run up until wakeAt or until something arrives.
func (r *recorder) suspend(w waitSet, wakeAt time.Time) error {
	next := &journal.Transition{State: journal.Waiting, SeenPos: r.seen, WakeAt: wakeAt, Waiting: w.describe(r.x.m)}
	if r.worthFreezing() {
		r.leaving = next
		return errFreezing
	}
	return r.leave(next, nil)
}

// leave is the end of a turn whose run waits.
func (r *recorder) leave(next *journal.Transition, c *journal.Checkpoint) error {
	r.checkpoint = c
	if err := r.flush(next); err != nil {
		return err
	}
	fpSuspended.Hit()
	return errSuspended
}

// errFreezing asks for the instance: the suspension is written when its checkpoint is known, in the same commit.
var errFreezing = fmt.Errorf("suspending: %w", sandbox.ErrFreeze)

// worthFreezing says whether the next turn would have to replay so much that a checkpoint is worth its row.
func (r *recorder) worthFreezing() bool {
	every := r.t.cfg.Checkpoints.Every
	return r.freezable && every > 0 && r.seq-r.last >= every
}

// flush makes durable what is not: entries, outcomes that the guest has not looked at, published values,
// and, with next, the end of the turn.
func (r *recorder) flush(next *journal.Transition) error {
	if r.lease == nil {
		r.observed, r.stash = nil, nil
		clear(r.published)
		return nil
	}
	b := journal.Batch{Entries: r.buffer, Observed: r.observed, Stash: slices.Clip(r.stash), Checkpoint: r.checkpoint, Next: next, Children: r.children, Cancels: r.cancels}
	for _, a := range r.arrivals {
		if a.unkept() {
			b.Stash = append(b.Stash, a.Arrival)
		}
	}
	for _, key := range sortedKeys(r.published) {
		b.Published = append(b.Published, journal.Published{Key: key, Value: r.published[key]})
	}
	if len(b.Entries)+len(b.Stash)+len(b.Observed)+len(b.Published)+len(b.Cancels) == 0 && next == nil {
		return nil
	}
	return r.write(b)
}

// write commits what flush has gathered. When it fails nothing is known, and the batch is kept as it is.
func (r *recorder) write(b journal.Batch) error {
	r.unsure = &b
	if _, err := r.commit(b); err != nil {
		return err
	}
	r.unsure = nil
	r.durable += int64(len(b.Entries))
	r.buffer, r.size, r.observed, r.stash, r.children, r.cancels = nil, 0, nil, nil, nil, nil
	clear(r.published)
	for i, a := range r.arrivals {
		r.arrivals[i].kept = a.kept || a.unkept()
	}
	return nil
}

// release gives the run back with all that is known here. A commit whose answer was lost comes first and
// unchanged: it may have landed, and when it was the end of the turn it is that still. ended says that it
// was the end of the run.
func (r *recorder) release(ctx context.Context, next *journal.Transition) (ended bool, err error) {
	r.ctx = ctx
	if b := r.unsure; b != nil {
		if err := r.write(*b); err != nil || b.Next != nil {
			return err == nil && b.Next.State.Terminal(), err
		}
	}
	r.receive()
	return false, r.flush(next)
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (r *recorder) commit(b journal.Batch) (state journal.State, err error) {
	err = r.persist(func(ctx context.Context) error {
		state, err = r.t.cfg.Store.Commit(ctx, *r.lease, b)
		return err
	})
	return state, err
}

// How long a turn keeps trying against a database that fails: about half a minute; then it gives up and
// leaves the run to the next claim.
const (
	persistTries    = 40
	persistFirst    = 20 * time.Millisecond
	persistLongest  = time.Second
	persistDeadline = 30 * time.Second // of one try
)

// decided says that trying again would not help: the answer is known, and it is not the database's failure.
func decided(err error) bool {
	var refused *modules.RefusedError
	for _, known := range []error{errCorrupt, errFenced, modules.ErrNotFound, journal.ErrConflict, journal.ErrState, journal.ErrNotFound, journal.ErrPayload} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &refused)
}

// persist runs one operation of the store until it succeeds, is decided, or may not go on. An error that
// is none of the journal's says nothing about whether a commit landed, so the same commit is sent again;
// the store recognises a repeat.
func (r *recorder) persist(do func(ctx context.Context) error) error {
	wait := persistFirst
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(r.ctx, persistDeadline)
		err := do(ctx)
		cancel()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, journal.ErrFenced):
			return fmt.Errorf("%w: %w", errFenced, err)
		case decided(err):
			return err
		case r.ctx.Err() != nil:
			return errAborted
		case try == persistTries:
			return fmt.Errorf("%w: the store failed %d times, last: %w", errAborted, try, err)
		}
		r.t.cfg.Logger.Warn("store failed, trying again", "run", r.lease.Run.String(), "try", try, "error", err)
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
			return errAborted
		}
		wait = min(2*wait, persistLongest)
	}
}
