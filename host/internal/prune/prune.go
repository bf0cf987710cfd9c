// Package prune owns the removal of what a journal keeps no longer: one goroutine that asks the store now and then, in small pieces,
// and never in a hurry. What is removed, and that nothing else is, is the store's. Package host starts and stops it; every node has one,
// and they do not hinder each other.
package prune

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"reprise/journal"
)

// Config says what is kept; every field is required.
type Config struct {
	Store     journal.Pruner
	Retention journal.Retention
	// Every is how long it is between two rounds, a quarter more or less, so that nodes do not meet.
	Every  time.Duration
	Logger *slog.Logger
}

// Pruner removes what is not kept.
type Pruner struct {
	cfg  Config
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// New makes a pruner.
func New(cfg Config) *Pruner { return &Pruner{cfg: cfg} }

// Start begins. Stop must be called.
func (p *Pruner) Start(ctx context.Context) {
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.wg.Go(func() { p.loop(ctx) })
}

// Stop ends what is under way and waits for it. It may be called without Start, and again.
func (p *Pruner) Stop() {
	if p.stop != nil {
		p.stop()
		p.wg.Wait()
	}
}

func (p *Pruner) loop(ctx context.Context) {
	// The first round is due at any time of a period: a fleet that starts at once does not prune at once.
	wait := time.Duration(rand.Int64N(int64(p.cfg.Every)))
	for sleep(ctx, wait) {
		p.round(ctx)
		wait = p.cfg.Every*3/4 + time.Duration(rand.Int64N(int64(p.cfg.Every)/2+1))
	}
}

// piece bounds the runs of one call.
const piece = 500

// round removes what there is now. After each piece it rests as long as the piece took, so that it takes at most half of one
// connection's time.
func (p *Pruner) round(ctx context.Context) {
	var sum journal.Pruned
	for sum.More = true; sum.More; {
		began := time.Now()
		got, err := p.cfg.Store.Prune(ctx, p.cfg.Retention, piece)
		sum.Runs, sum.Rows, sum.Payloads, sum.Bytes, sum.More = sum.Runs+got.Runs, sum.Rows+got.Rows, sum.Payloads+got.Payloads, sum.Bytes+got.Bytes, got.More
		if err != nil {
			if ctx.Err() == nil {
				p.cfg.Logger.Warn("cannot remove what is not kept any longer; it is tried again later", "error", err)
			}
			break
		}
		if sum.More && !sleep(ctx, time.Since(began)) {
			break
		}
	}
	if sum.Runs+sum.Rows+sum.Payloads > 0 {
		p.cfg.Logger.Info("removed what is not kept any longer", "runs", sum.Runs, "rows", sum.Rows, "payloads", sum.Payloads, "payload_bytes", sum.Bytes)
	}
}

// sleep returns false when ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
