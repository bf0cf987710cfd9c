// Package gate bounds what is under way at once, in all and for each tenant, and how many may wait for it. It
// owns the order in which waiting callers are let in, and nothing of what they do there. The host puts one
// before the preparing of modules, the API one before the reading of their bytes.
package gate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"reprise/tenant"
)

// Reasons why nobody may wait any more.
var (
	// ErrTenantFull says that as many of the tenant wait as may.
	ErrTenantFull = errors.New("too many of this tenant are waiting")
	// ErrFull says that as many wait as may, of all tenants.
	ErrFull = errors.New("too many are waiting")
)

// Config says how much goes in. All fields are at least 1.
type Config struct {
	// Total and Each bound the sum of the weights that are inside, of all tenants and of one. Each is at
	// most Total; when it is less, no tenant keeps all others out.
	Total, Each int64
	// Waiting and WaitingEach bound those that wait, of all tenants and of one.
	Waiting, WaitingEach int
}

// Gate lets callers in. Of the tenants that have room for their next caller, the one that was let in
// longest ago comes first; within a tenant the order is that of arrival.
type Gate struct {
	cfg Config

	mu      sync.Mutex
	inside  int64
	turn    int64 // counts those that were let in
	tenants map[tenant.ID]*party
	waiting []*waiter // in order of arrival
}

// party is one tenant that has somebody inside or waiting.
type party struct {
	inside  int64
	waiting int
	last    int64 // turn of the last that was let in
}

type waiter struct {
	tenant tenant.ID
	weight int64
	in     chan struct{} // closed when let in
}

// New makes a gate.
func New(cfg Config) *Gate { return &Gate{cfg: cfg, tenants: map[tenant.ID]*party{}} }

// Enter waits to be let in and returns how to leave, which is to be called once. A weight beyond what one
// tenant may have counts as all of that. Returns ErrTenantFull or ErrFull without waiting, and the context's error.
func (g *Gate) Enter(ctx context.Context, t tenant.ID, weight int64) (leave func(), err error) {
	w := &waiter{tenant: t, weight: min(max(weight, 1), g.cfg.Each), in: make(chan struct{})}
	if err := g.arrive(w); err != nil {
		return nil, err
	}
	select {
	case <-w.in:
	case <-ctx.Done():
		if g.giveUp(w) {
			return nil, ctx.Err()
		}
		// It was let in at the same moment.
	}
	return func() { g.leave(w) }, nil
}

func (g *Gate) arrive(w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.tenants[w.tenant]
	if p == nil {
		p = &party{}
		g.tenants[w.tenant] = p
	}
	p.waiting++
	g.waiting = append(g.waiting, w)
	g.admit()
	select {
	case <-w.in:
		return nil
	default:
	}
	// It waits, and is counted in both.
	switch {
	case p.waiting > g.cfg.WaitingEach:
		g.remove(w)
		return ErrTenantFull
	case len(g.waiting) > g.cfg.Waiting:
		g.remove(w)
		return ErrFull
	}
	return nil
}

// giveUp takes a waiter out; false when it is in already.
func (g *Gate) giveUp(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.in:
		return false
	default:
	}
	g.remove(w)
	g.admit() // what waited behind a heavy one may fit
	return true
}

func (g *Gate) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.tenants[w.tenant]
	g.inside -= w.weight
	p.inside -= w.weight
	g.forget(w.tenant, p)
	g.admit()
}

// admit lets in whoever may. It stops at a chosen one that does not fit: were lighter ones let past it, a
// heavy one would wait for ever. Callers hold mu.
func (g *Gate) admit() {
	for {
		w := g.next()
		if w == nil || g.inside+w.weight > g.cfg.Total {
			return
		}
		p := g.tenants[w.tenant]
		g.turn++
		g.inside += w.weight
		p.inside += w.weight
		p.last = g.turn
		g.remove(w)
		close(w.in)
	}
}

// next chooses among the first waiters of tenants that have room for them.
func (g *Gate) next() *waiter {
	var chosen *waiter
	seen := map[tenant.ID]bool{}
	for _, w := range g.waiting {
		if seen[w.tenant] {
			continue
		}
		seen[w.tenant] = true
		p := g.tenants[w.tenant]
		if p.inside+w.weight > g.cfg.Each {
			continue
		}
		if chosen == nil || p.last < g.tenants[chosen.tenant].last {
			chosen = w
		}
	}
	return chosen
}

func (g *Gate) remove(w *waiter) {
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	p := g.tenants[w.tenant]
	p.waiting--
	g.forget(w.tenant, p)
}

// forget drops a tenant that has nobody here. When it comes again it counts as one that never was let in.
func (g *Gate) forget(t tenant.ID, p *party) {
	if p.inside == 0 && p.waiting == 0 {
		delete(g.tenants, t)
	}
}
