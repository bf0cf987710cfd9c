package sched

import (
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

// Reserve keeps a place for a run of a tenant. ok is false when the node takes no work, or has no room, or runs that were
// there before are due and have not been claimed.
func (d *Dispatcher) Reserve(t tenant.ID) (p *Place, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
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

// Run executes a run that has begun under Node.
func (p *Place) Run(c journal.Claim) { p.d.run(c, true) }

// Release gives the place to others.
func (p *Place) Release() {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.left(p.tenant)
}
