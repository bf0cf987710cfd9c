package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestPlacesTakeTurns: tenants take turns, and guests of one tenant come in order.
func TestPlacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		must(t, p.enter(t.Context(), "first"))
		var order []string
		for _, guest := range strings.Fields("a1 a2 a3 a4 b1 b2 c1") {
			go func() {
				must(t, p.enter(t.Context(), guest[:1]))
				order = append(order, guest)
				p.leave()
			}()
			synctest.Wait()
		}
		p.leave()
		synctest.Wait()
		if got, want := strings.Join(order, " "), "a1 b1 c1 a2 b2 a3 a4"; got != want {
			t.Errorf("got the order %s, want %s", got, want)
		}
		empty(t, p)
	})
}

// TestArrivingGuestsGoFirst: within a tenant, but not for ever.
func TestArrivingGuestsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		must(t, p.enter(t.Context(), "a"))
		var order []string
		for range maxAhead + 1 {
			go func() {
				must(t, p.enter(t.Context(), "a"))
				order = append(order, "arrived")
				p.leave()
			}()
		}
		synctest.Wait()
		must(t, p.yield(t.Context(), "a"))
		if len(order) != maxAhead {
			t.Errorf("got %d arriving guests before the one that was preempted, want %d of %d", len(order), maxAhead, maxAhead+1)
		}
		p.leave()
		synctest.Wait()
		if len(order) != maxAhead+1 {
			t.Errorf("got %d arriving guests in all, want %d", len(order), maxAhead+1)
		}
		empty(t, p)
	})
}

// TestSpinningTenantDelaysAnotherByOneSlice: whatever the number of its guests.
func TestSpinningTenantDelaysAnotherByOneSlice(t *testing.T) {
	const slice = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				tenant := fmt.Sprint("spinning-", i%2)
				for err := p.enter(ctx, tenant); err == nil; err = p.yield(ctx, tenant) {
					time.Sleep(slice)
					if ctx.Err() != nil {
						p.leave()
						return
					}
				}
			})
		}
		for range 50 {
			time.Sleep(rand.N(3 * slice))
			began := time.Now()
			must(t, p.enter(ctx, "calm"))
			if waited := time.Since(began); waited > 2*slice {
				t.Errorf("waited %s, want at most a slice for each of two other tenants", waited)
			}
			p.leave()
		}
		cancel()
		wg.Wait()
		empty(t, p)
	})
}

func TestCancelledGuestWaitsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		must(t, p.enter(t.Context(), "a"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		for _, tenant := range []string{"a", "b"} {
			go func() { ended <- p.enter(ctx, tenant) }()
		}
		synctest.Wait()
		go func() { ended <- p.enter(t.Context(), "b") }()
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the context's error", err)
			}
		}
		p.leave()
		must(t, <-ended)
		p.leave()
		empty(t, p)
	})
}

// TestPlaceOfACancelledGuestGoesOn: its turn comes at the same moment as its end.
func TestPlaceOfACancelledGuestGoesOn(t *testing.T) {
	p := newPlaces(1)
	must(t, p.enter(t.Context(), "a"))
	ctx, cancel := context.WithCancel(t.Context())
	p.mu.Lock()
	w, other := p.join("a", arrived), p.join("a", arrived)
	p.pass()
	p.mu.Unlock()
	cancel()
	if <-w.turn; w.at != nil { // as if select had chosen the other case
		t.Fatal("the first in line has no place")
	}
	if err := p.await(ctx, w); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	must(t, p.await(t.Context(), other))
	p.leave()
	empty(t, p)
}

func TestPlacesDoNotAllocateWhenNobodyWaits(t *testing.T) {
	p := newPlaces(2)
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		must(t, p.enter(ctx, "a"))
		must(t, p.yield(ctx, "a"))
		p.leave()
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// TestPlacesHammer: no place is lost or given twice, whoever gives up.
func TestPlacesHammer(t *testing.T) {
	const size, guests, turns = 3, 64, 200
	p := newPlaces(size)
	var inside atomic.Int32
	var wg sync.WaitGroup
	for i := range guests {
		wg.Go(func() {
			tenant := fmt.Sprint(i % 5)
			for range turns {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					go cancel()
				}
				for err := p.enter(ctx, tenant); err == nil; err = p.yield(ctx, tenant) {
					if n := inside.Add(1); n > size {
						t.Errorf("%d guests compute, more than %d", n, size)
					}
					inside.Add(-1)
					if rand.IntN(4) == 0 {
						p.leave()
						break
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	empty(t, p)
}

// TestPlacesAreFair walks through random histories, without goroutines: w.turn says who has a place.
func TestPlacesAreFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &fairness{p: newPlaces(rapid.IntRange(1, 3).Draw(rt, "places")), since: map[string]map[string]int{}, ahead: map[string]int{}}
		rt.Repeat(map[string]func(*rapid.T){
			"arrive": f.arrive, "arrive too": f.arrive, "preempt": f.preempt, "leave": f.leave, "give up": f.giveUp, "": f.check,
		})
	})
}

// fairness holds the guests of a walk, and what each tenant saw others get while it waited.
type fairness struct {
	p       *places
	inside  []string // tenants
	waiting []*waiter
	since   map[string]map[string]int // since this tenant's last turn or arrival: turns of another
	ahead   map[string]int            // arrived ones that went before a preempted one, in a row
}

var tenants = rapid.SampledFrom([]string{"a", "b", "c"})

func (f *fairness) arrive(rt *rapid.T) {
	tenant := tenants.Draw(rt, "tenant")
	if f.p.free > 0 {
		f.p.free--
		f.inside = append(f.inside, tenant)
		return
	}
	f.join(tenant, arrived)
}

func (f *fairness) join(tenant string, queue int) {
	if f.since[tenant] == nil {
		f.since[tenant], f.ahead[tenant] = map[string]int{}, 0
	}
	f.waiting = append(f.waiting, f.p.join(tenant, queue))
}

func (f *fairness) preempt(rt *rapid.T) {
	if len(f.inside) > 0 && len(f.waiting) > 0 {
		i := rapid.IntRange(0, len(f.inside)-1).Draw(rt, "guest")
		f.join(f.inside[i], preempted)
		f.passOf(rt, i)
	}
}

func (f *fairness) leave(rt *rapid.T) {
	if len(f.inside) > 0 {
		f.passOf(rt, rapid.IntRange(0, len(f.inside)-1).Draw(rt, "guest"))
	}
}

func (f *fairness) giveUp(rt *rapid.T) {
	if len(f.waiting) > 0 {
		i := rapid.IntRange(0, len(f.waiting)-1).Draw(rt, "waiter")
		w := f.waiting[i]
		f.p.remove(w)
		f.waiting = append(f.waiting[:i:i], f.waiting[i+1:]...)
		f.forget(w.line.tenant)
	}
}

// forget ends a tenant's count when nobody of it waits.
func (f *fairness) forget(tenant string) {
	for _, w := range f.waiting {
		if w.line.tenant == tenant {
			return
		}
	}
	delete(f.since, tenant)
}

// passOf gives the place of a guest on and judges who got it.
func (f *fairness) passOf(rt *rapid.T, guest int) {
	f.inside = append(f.inside[:guest:guest], f.inside[guest+1:]...)
	f.p.pass()
	for i, w := range f.waiting {
		if len(w.turn) == 0 {
			continue
		}
		<-w.turn
		tenant := w.line.tenant
		for _, o := range f.waiting[:i] {
			if o.line.tenant == tenant && o.queue == w.queue {
				rt.Fatalf("a guest of %s went before one that waits longer", tenant)
			}
		}
		f.judgeQueues(rt, w)
		f.waiting = append(f.waiting[:i:i], f.waiting[i+1:]...)
		f.inside = append(f.inside, tenant)
		for other, turns := range f.since {
			if turns[tenant]++; other != tenant && turns[tenant] > 1 {
				rt.Fatalf("%s had %d turns while %s waited for one", tenant, turns[tenant], other)
			}
		}
		f.since[tenant] = map[string]int{}
		f.forget(tenant)
		return
	}
	if len(f.waiting) > 0 {
		rt.Fatalf("%d guests wait and none got the place", len(f.waiting))
	}
}

func (f *fairness) judgeQueues(rt *rapid.T, w *waiter) {
	tenant, others := w.line.tenant, 0
	for _, o := range f.waiting {
		if o != w && o.line.tenant == tenant && o.queue != w.queue {
			others++
		}
	}
	switch {
	case w.queue == preempted && others > 0 && f.ahead[tenant] < maxAhead:
		rt.Fatalf("a preempted guest of %s went before one that arrived", tenant)
	case w.queue == arrived && others > 0:
		if f.ahead[tenant]++; f.ahead[tenant] > maxAhead {
			rt.Fatalf("%d guests of %s went before one that was preempted", f.ahead[tenant], tenant)
		}
	case w.queue == preempted:
		f.ahead[tenant] = 0
	}
}

func (f *fairness) check(rt *rapid.T) {
	if f.p.taken() != len(f.inside) {
		rt.Fatalf("got %d places taken, want %d", f.p.taken(), len(f.inside))
	}
	if len(f.p.lines) != f.p.turns.Len() || len(f.waiting) == 0 && len(f.p.lines) > 0 {
		rt.Fatalf("got %d tenants in the round and %d lines for %d that wait", f.p.turns.Len(), len(f.p.lines), len(f.waiting))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// empty checks that nobody has a place and nobody waits.
func empty(t *testing.T, p *places) {
	t.Helper()
	if p.taken() != 0 || p.turns.Len() != 0 || len(p.lines) != 0 {
		t.Errorf("got %d places taken, %d tenants in the round, %d lines, want none", p.taken(), p.turns.Len(), len(p.lines))
	}
}
