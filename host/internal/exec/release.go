package exec

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"reprise/journal"
)

// releaseFor bounds one try of a turn's last write, and the whole of it when the node may not go on.
const releaseFor = 5 * time.Second

// releaseTries is how often the whole of what a turn knows is offered to a store that fails, before the run
// is given back without it: a run must not stick because the store cannot take what it has to say.
const releaseTries = 6

// release gives the run back. What the node knows is written with it, so that it need not be done again.
// A run that was given back in good order has not ended with its host; any other keeps its attempts.
func (u *Turn) release(ctx context.Context, log *slog.Logger, why error) {
	next := &journal.Transition{State: journal.Ready, KeepAttempts: !errors.Is(why, errReleased) && ctx.Err() == nil}
	ended, err := u.leave(ctx, next, true)
	switch {
	case err != nil:
		log.Warn("could not give the run back; it is taken over when the lease ends", "error", err)
	case ended:
		u.t.cfg.Ended(u.claim.Lease.Run, nil)
	}
}

// leave gives up the lease by next. whole says that what is known in memory is written with it; ended that it was
// the end of the run, by a commit whose answer had been lost.
func (u *Turn) leave(ctx context.Context, next *journal.Transition, whole bool) (ended bool, err error) {
	var rec *recorder
	if whole {
		u.mu.Lock()
		rec = u.rec
		u.mu.Unlock()
	}
	tries := 0
	err = u.last(ctx, func(ctx context.Context) (err error) {
		if rec != nil && rec.live() {
			ended, err = rec.release(ctx, next)
			tries++
			if err == nil || errors.Is(err, errFenced) || !decided(err) && tries < releaseTries {
				return err
			}
			rec = nil // what is in memory cannot be written: give back what is durable
		}
		_, err = newRecorder(ctx, u.t, &u.claim.Lease, u.drain).commit(journal.Batch{Next: next})
		return err
	})
	return ended, err
}

// block stops the run until an operator acts. whole says that what is known in memory is right and is kept.
func (u *Turn) block(ctx context.Context, reason string, whole bool) {
	log := u.log()
	log.Error("run blocked", "reason", reason)
	if _, err := u.leave(ctx, &journal.Transition{State: journal.Blocked, Reason: reason}, whole); err != nil {
		log.Error("could not block the run", "error", err)
		return
	}
	u.t.cfg.Ended(u.claim.Lease.Run, nil)
}

// last does the turn's last write. While the node lives nobody else may take the run, so that giving up
// would leave it to nobody: it goes on until the answer is known or the node may not go on.
func (u *Turn) last(ctx context.Context, write func(context.Context) error) error {
	for {
		tctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseFor)
		err := write(tctx)
		cancel()
		if err == nil || decided(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(persistLongest):
		case <-ctx.Done():
		}
	}
}
