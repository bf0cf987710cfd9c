package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entered is a caller that was let in or waits.
type entered struct {
	leave func()
	err   error
	done  chan struct{}
}

func enter(ctx context.Context, g *Gate, t tenant.ID, weight int64) *entered {
	e := &entered{done: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.leave, e.err = g.Enter(ctx, t, weight)
	}()
	synctest.Wait() // it is in, refused, or waits
	return e
}

func (e *entered) state() string {
	select {
	case <-e.done:
	default:
		return "waits"
	}
	if e.err != nil {
		return e.err.Error()
	}
	return "in"
}

func wantStates(t *testing.T, want []string, es ...*entered) {
	t.Helper()
	synctest.Wait()
	var got []string
	for _, e := range es {
		got = append(got, e.state())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSharesAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		g := New(Config{Total: 3, Each: 2, Waiting: 10, WaitingEach: 10})
		a1, a2, a3 := enter(ctx, g, "a", 1), enter(ctx, g, "a", 1), enter(ctx, g, "a", 1)
		a4 := enter(ctx, g, "a", 1)
		b1, b2, c1 := enter(ctx, g, "b", 1), enter(ctx, g, "b", 1), enter(ctx, g, "c", 1)
		// Of a two are in, which is its share; the third place is b's.
		wantStates(t, []string{"in", "in", "waits", "waits", "in", "waits", "waits"}, a1, a2, a3, a4, b1, b2, c1)
		a1.leave()
		// c was never in: it comes before those of a and b that came before it.
		wantStates(t, []string{"waits", "waits", "waits", "in"}, a3, a4, b2, c1)
		b1.leave()
		wantStates(t, []string{"in", "waits", "waits"}, a3, a4, b2)
		a2.leave()
		wantStates(t, []string{"waits", "in"}, a4, b2)
		b2.leave()
		wantStates(t, []string{"in"}, a4)
		for _, e := range []*entered{a3, a4, c1} {
			e.leave()
		}
		if len(g.tenants) != 0 || g.inside != 0 || len(g.waiting) != 0 {
			t.Errorf("got tenants %v, inside %d, waiting %d; want nothing kept", g.tenants, g.inside, len(g.waiting))
		}
	})
}

func TestAHeavyOneIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		g := New(Config{Total: 10, Each: 8, Waiting: 10, WaitingEach: 10})
		a := enter(ctx, g, "a", 5)
		heavy, light := enter(ctx, g, "b", 100), enter(ctx, g, "c", 1)
		wantStates(t, []string{"in", "waits", "waits"}, a, heavy, light)
		a.leave()
		wantStates(t, []string{"in", "in"}, heavy, light) // 100 counts as 8
		heavy.leave()
		light.leave()
	})
}

func TestTooManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		g := New(Config{Total: 1, Each: 1, Waiting: 2, WaitingEach: 1})
		in := enter(ctx, g, "a", 1)
		a, again, b, c := enter(ctx, g, "a", 1), enter(ctx, g, "a", 1), enter(ctx, g, "b", 1), enter(ctx, g, "c", 1)
		wantStates(t, []string{"waits", ErrTenantFull.Error(), "waits", ErrFull.Error()}, a, again, b, c)
		if !errors.Is(again.err, ErrTenantFull) || !errors.Is(c.err, ErrFull) {
			t.Errorf("got %v and %v", again.err, c.err)
		}
		in.leave()
		wantStates(t, []string{"waits", "in"}, a, b)
		b.leave()
		synctest.Wait()
		a.leave()
	})
}

func TestWhoGivesUpIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Total: 2, Each: 2, Waiting: 10, WaitingEach: 10})
		in := enter(t.Context(), g, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		heavy, light := enter(ctx, g, "b", 2), enter(t.Context(), g, "c", 1)
		wantStates(t, []string{"waits", "waits"}, heavy, light)
		cancel()
		wantStates(t, []string{context.Canceled.Error(), "in"}, heavy, light)
		in.leave()
		light.leave()
		if len(g.tenants) != 0 {
			t.Errorf("got tenants %v, want none kept", g.tenants)
		}
	})
}

// TestManyAtOnce counts who is inside, from many goroutines, some of which give up.
func TestManyAtOnce(t *testing.T) {
	g := New(Config{Total: 3, Each: 2, Waiting: 1000, WaitingEach: 1000})
	var all, served atomic.Int64
	each := map[tenant.ID]*atomic.Int64{}
	for i := range 5 {
		each[tenant.ID(fmt.Sprint(i))] = &atomic.Int64{}
	}
	var wg sync.WaitGroup
	for i := range 200 {
		id := tenant.ID(fmt.Sprint(i % 5))
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%7 == 0 {
				go cancel()
			}
			leave, err := g.Enter(ctx, id, 1)
			if err != nil {
				return
			}
			if a, e := all.Add(1), each[id].Add(1); a > 3 || e > 2 {
				t.Errorf("got %d inside and %d of tenant %s, want at most 3 and 2", a, e, id)
			}
			served.Add(1)
			each[id].Add(-1)
			all.Add(-1)
			leave()
		})
	}
	wg.Wait()
	if n := served.Load(); n < 200-200/7-1 {
		t.Errorf("got %d served, want all that did not give up", n)
	}
	if len(g.tenants) != 0 || g.inside != 0 {
		t.Errorf("got tenants %v, inside %d; want nothing kept", g.tenants, g.inside)
	}
}
