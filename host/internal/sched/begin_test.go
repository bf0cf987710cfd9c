package sched

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// reserve gives a place that must be there.
func (b *bench) reserve(t *testing.T, owner tenant.ID) *Place {
	t.Helper()
	p, ok := b.d.Reserve(t.Context(), owner)
	if !ok {
		t.Fatalf("no place for a run of %s", owner)
	}
	return p
}

func (b *bench) refuse(t *testing.T, why string, owner tenant.ID) {
	t.Helper()
	if p, ok := b.d.Reserve(t.Context(), owner); ok {
		p.Release()
		t.Errorf("%s: got a place, want none", why)
	}
}

// begins are claims of runs that the store has made for the node.
func begins(p *Place, id byte, owner tenant.ID) journal.Claim {
	return journal.Claim{Lease: journal.Lease{Tenant: owner, Run: journal.RunID{id}, Node: p.Node, Token: 1}}
}

// TestPlacesCountAsRuns: a place is room that no claim and no other start gets, until it is released or its run has ended.
func TestPlacesCountAsRuns(t *testing.T) {
	bubble(t, 3, func(t *testing.T, b *bench) {
		b.hold = true
		time.Sleep(time.Millisecond) // the first claim
		one, two := b.reserve(t, "acme"), b.reserve(t, "acme")
		b.refuse(t, "acme has as many as a tenant may", "acme")
		one.Run(begins(one, 1, "acme"))
		b.refuse(t, "one of them runs", "acme")
		third := b.reserve(t, "other")
		b.refuse(t, "the node is full", "other")
		b.store.add(100, time.Now())
		time.Sleep(3 * time.Second)
		if got := len(b.all()); got != 1 {
			t.Fatalf("got %d turns, want 1: the claim had no room", got)
		}
		two.Release()
		time.Sleep(time.Millisecond)
		if got := len(b.all()); got != 2 {
			t.Errorf("got %d turns after a place was given back, want the one that is due at once", got)
		}
		third.Release()
		close(b.all()[0].end)
		time.Sleep(time.Millisecond)
		b.reserve(t, "acme").Release()
	})
}

// TestNobodyIsOvertaken: while a claim leaves runs behind that are due, what starts is queued after them.
func TestNobodyIsOvertaken(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		for i := range byte(3) {
			b.store.add(i+1, time.Now())
		}
		time.Sleep(1500 * time.Millisecond)
		b.refuse(t, "a run is due and has no room", "acme")
		close(b.all()[0].end)
		synctest.Wait()
		b.refuse(t, "it has the room now", "acme")
		for _, f := range b.all()[1:] {
			close(f.end)
		}
		time.Sleep(2 * time.Second)
		b.reserve(t, "acme").Release()
	})
}

// TestAClaimUnderWayComesFirst: what it brings is counted before a place is given, and nobody waits for it for long.
func TestAClaimUnderWayComesFirst(t *testing.T) {
	for claim, want := range map[time.Duration]bool{20 * time.Millisecond: true, 10 * time.Second: false} {
		bubble(t, 3, func(t *testing.T, b *bench) {
			b.hold = true
			time.Sleep(time.Millisecond)
			b.store.set(func() { b.store.claimFor = claim })
			b.store.add(100, time.Now())
			b.store.hints <- struct{}{}
			synctest.Wait()
			began := time.Now()
			p, ok := b.d.Reserve(t.Context(), "acme")
			if ok != want {
				t.Errorf("a claim of %s: got a place %v, want %v", claim, ok, want)
			}
			if ok {
				p.Release()
			}
			if took := time.Since(began); took > claimFor {
				t.Errorf("a claim of %s: the start waited %s, want %s at most", claim, took, claimFor)
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestNoPlaceWithoutALease: a node that is not started, drains, or has lost its lease has none, and a run whose place was given
// before is stopped.
func TestNoPlaceWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{Store: newFakeStore()})
		if _, ok := d.Reserve(t.Context(), "acme"); ok {
			t.Error("a node that was not started: got a place, want none")
		}
	})
	bubble(t, 3, func(t *testing.T, b *bench) {
		b.hold = true
		time.Sleep(time.Millisecond)
		p := b.reserve(t, "acme")
		b.store.set(func() { b.store.down = true })
		time.Sleep(time.Minute)
		b.refuse(t, "the lease has lapsed", "acme")
		p.Run(begins(p, 1, "acme"))
		synctest.Wait()
		if f := b.all()[0]; f.err != context.Canceled {
			t.Errorf("the run of a place of before: got %v, want it cancelled", f.err)
		}
		b.store.set(func() { b.store.down = false })
		time.Sleep(time.Minute)
		b.reserve(t, "acme").Release()
		b.d.mu.Lock()
		b.d.draining = true
		b.d.mu.Unlock()
		b.refuse(t, "it drains", "acme")
	})
}
