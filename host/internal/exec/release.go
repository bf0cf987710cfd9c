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
	u.mu.Lock()
	rec := u.rec
	u.mu.Unlock()
	ended, tries := false, 0
	err := u.last(ctx, func(ctx context.Context) (err error) {
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
	switch {
	case err != nil:
		log.Warn("could not give the run back; it is taken over when the lease ends", "error", err)
	case ended:
		u.t.cfg.Ended(u.claim.Lease.Run)
	}
}

// block stops the run until an operator acts.
func (u *Turn) block(ctx context.Context, reason string) {
	log := u.log()
	log.Error("run blocked", "reason", reason)
	err := u.last(ctx, func(ctx context.Context) error {
		_, err := newRecorder(ctx, u.t, &u.claim.Lease, u.drain).commit(journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: reason}})
		return err
	})
	if err != nil {
		log.Error("could not block the run", "error", err)
		return
	}
	u.t.cfg.Ended(u.claim.Lease.Run)
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
