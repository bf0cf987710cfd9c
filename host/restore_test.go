package host_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

var errCut = errors.New("the host was cut off")

// cutStore pauses one run a call, and fails when it was called so often.
type cutStore struct {
	journal.Store
	holds, cutAt int
	claims       atomic.Int32
}

func (s *cutStore) Hold(ctx context.Context, reason string, limit int) (journal.Held, error) {
	if s.holds++; s.holds == s.cutAt {
		return journal.Held{}, errCut
	}
	return s.Store.Hold(ctx, reason, min(limit, 1))
}

func (s *cutStore) Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error) {
	s.claims.Add(1)
	return s.Store.Claim(ctx, node, w)
}

// TestRestored: a host on a restored journal pauses what is open before it claims anything, goes on after it was cut off in that, and carries on what is
// resumed.
func TestRestored(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var asked atomic.Int32
	effects := effect.Registry{"test.step": {Handler: effect.HandlerFunc(func(ctx context.Context, r effect.Request) ([]byte, error) {
		asked.Add(1)
		return step(ctx, r)
	})}}
	boot := func(s journal.Store, restored bool) (*node, error) {
		h, err := host.New(host.Config{Store: s, Effects: effects, Poll: 10 * time.Millisecond, HoldFor: 5 * time.Millisecond, Restored: restored})
		if err != nil {
			t.Fatal(err)
		}
		return &node{Host: h, t: t, store: store}, h.Start(ctx)
	}
	stop := func(n *node) {
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	n, err := boot(store, false)
	if err != nil {
		t.Fatal(err)
	}
	steps := n.push("steps", "steps")
	n.push("signal", "signal")
	waiting := n.start("signal", "")
	n.until(waiting, journal.Waiting)
	ended := n.start("steps", "2")
	n.end(ended)
	stop(n)
	var ready []journal.RunID
	for range 3 {
		r, _, err := store.Create(ctx, journal.Run{Tenant: tenant.Default, ID: journal.NewRunID(), Workflow: "steps", Digest: steps, Entry: n.row(ended).Entry, Input: []byte("2")})
		if err != nil {
			t.Fatal(err)
		}
		ready = append(ready, r.ID)
	}
	before := asked.Load()

	cut := &cutStore{Store: store, cutAt: 3}
	n, err = boot(cut, true)
	if !errors.Is(err, errCut) || cut.claims.Load() != 0 {
		t.Fatalf("got %v after %d claims, want %v and none", err, cut.claims.Load(), errCut)
	}
	stop(n)
	n, err = boot(&cutStore{Store: store}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(n)
	if n.Held() != 2 {
		t.Errorf("got %d runs paused by the second start, want the 2 that the first left", n.Held())
	}
	for _, id := range append(ready, waiting) {
		if r := n.row(id); r.State != journal.Paused || !strings.HasPrefix(r.Reason, "restored: ") {
			t.Errorf("run of %s: got %s %q, want it paused", r.Workflow, r.State, r.Reason)
		}
	}
	if _, err := n.Resume(ctx, tenant.Default, ready[1]); err != nil {
		t.Fatal(err)
	}
	if r := n.end(ready[1]); r.State != journal.Completed || string(r.Output) != "[1][2]" {
		t.Errorf("resumed run: got %s %s", r.State, r.Output)
	}
	if _, err := n.Signal(ctx, tenant.Default, waiting, "go", "go", []byte("now")); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Resume(ctx, tenant.Default, waiting); err != nil {
		t.Fatal(err)
	}
	if r := n.end(waiting); r.State != journal.Completed || string(r.Output) != "now" {
		t.Errorf("run that had waited: got %s %s, want the signal that came while it was paused", r.State, r.Output)
	}
	if got := asked.Load() - before; got != 2 {
		t.Errorf("effects: got %d, want the 2 of the run that was resumed", got)
	}
	for _, id := range []journal.RunID{ready[0], ready[2]} {
		if r := n.row(id); r.State != journal.Paused || r.NextSeq != 0 {
			t.Errorf("run that nobody resumed: got %s with %d entries, want it paused and untouched", r.State, r.NextSeq)
		}
	}
	if r := n.start("steps", "1"); n.end(r).State != journal.Completed {
		t.Error("a new run does not complete beside those that are paused")
	}
}

func (n *node) row(id journal.RunID) journal.Run {
	n.t.Helper()
	r, err := n.store.Run(context.Background(), tenant.Default, id)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}
