package sandbox

import (
	"cmp"
	"slices"
)

// Evictable is a World that can freeze its guest while it waits, so that others have its memory: after Evict, the wait
// returns ErrFreeze as soon as it has nothing to show. Evict is called by any goroutine, at any time, and does not block.
type Evictable interface{ Evict() }

// evict asks guests that wait to be frozen, those that wait the longest first, until what they hold of a budget is as much as
// is needed. A tenant, when one is named, is the only one asked. Nobody waits for them: memory that is given back goes to
// who stands in line.
func (f *folder) evict(b *budget, tenant string, need int64) {
	f.mu.Lock()
	var guests []*instance
	for in := range f.guests {
		if in.budget == b && (tenant == "" || in.entry.Tenant == tenant) && in.mod.Freezable(in.export) == nil {
			guests = append(guests, in)
		}
	}
	f.mu.Unlock()
	slices.SortFunc(guests, func(a, b *instance) int { return cmp.Compare(a.fold.began.Load(), b.fold.began.Load()) })
	for _, in := range guests {
		if need <= 0 {
			return
		}
		if w, ok := in.world.(Evictable); ok {
			if held := in.ask(); held > 0 {
				need -= held
				w.Evict()
			}
		}
	}
}

// ask notes that a guest which waits is asked to be frozen, and returns what it holds of its budget; 0 when it does not
// wait, or was asked before.
func (in *instance) ask() int64 {
	in.fold.mu.Lock()
	defer in.fold.mu.Unlock()
	if !in.fold.resting || in.fold.asked {
		return 0
	}
	in.fold.asked = true
	return in.reserved
}

// serve asks on behalf of who has stood in line since the last look.
func (f *folder) serve(budgets ...*budget) {
	for _, b := range budgets {
		if tenant, need := b.wanting(); need > 0 {
			f.evict(b, tenant, need)
		}
	}
}
