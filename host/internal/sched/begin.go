package sched

import (
	"context"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// Place is room on this node for a run that begins here, without a way through the store's queue of what is due.
// Run or Release must be called.
type Place struct {
	d      *Dispatcher
	tenant tenant.ID
	// Node is the registration under which the run is to begin.
	Node string
}

// claimFor bounds how long a start waits for a claim that is under way: some times as long as one takes.
const claimFor = 50 * time.Millisecond

// Reserve keeps a place for a run of a tenant. ok is false when the node takes no work, or has no room, or runs that were
// there before are due and have not been claimed. What a claim that is under way brings comes first.
func (d *Dispatcher) Reserve(ctx context.Context, t tenant.ID) (p *Place, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.claimed(ctx) {
		return nil, false
	}
	switch {
	case d.turns == nil, d.draining, d.lapsed != nil, d.behind:
		return nil, false
	case d.total >= d.cfg.MaxRunning, d.held[t] >= d.cfg.MaxPerTenant:
		d.starved = true
		return nil, false
	}
	d.count(t, 1)
	return &Place{d: d, tenant: t, Node: d.node.ID}, true
}

// claimed waits until no claim is under way; false when that takes too long. It is called with mu held, and lets go of it.
func (d *Dispatcher) claimed(ctx context.Context) bool {
	if d.claiming == nil {
		return true
	}
	late := time.NewTimer(claimFor)
	defer late.Stop()
	for d.claiming != nil {
		claiming := d.claiming
		d.mu.Unlock()
		waits := true
		select {
		case <-claiming:
		case <-late.C:
			waits = false
		case <-ctx.Done():
			waits = false
		}
		d.mu.Lock()
		if !waits {
			return d.claiming == nil
		}
	}
	return true
}

// Run executes a run that has begun under Node.
func (p *Place) Run(c journal.Claim) { p.d.run(c, true) }

// Release gives the place to others.
func (p *Place) Release() {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.left(p.tenant)
}
