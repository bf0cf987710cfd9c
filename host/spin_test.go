package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// TestSpinningGuestsHarmNobody: more guests compute without end than there are processors. Other runs end, and
// the node stops when it is told to, with every run given back.
func TestSpinningGuestsHarmNobody(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, Effects: steps(), DrainTimeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	n := &node{Host: h, t: t, store: store}
	n.push("spin", "spin")
	n.push("steps", "steps")
	var spinning []journal.RunID
	for range 4 {
		spinning = append(spinning, n.start("spin", ""))
	}
	n.until(spinning[3], journal.Running)
	if run := n.end(n.start("steps", "10")); run.State != journal.Completed {
		t.Errorf("got %s (%s) of another run, want completed", run.State, run.Reason)
	}
	if err := h.Stop(ctx); err != nil {
		t.Error(err)
	}
	for _, id := range spinning {
		run, err := store.Run(ctx, tenant.Default, id)
		if err != nil {
			t.Fatal(err)
		}
		if run.State != journal.Ready && run.State != journal.Failed {
			t.Errorf("got %s owned by %q, want ready, or failed when its gas was used up", run.State, run.Owner)
		}
	}
	if err := errors.Join(store.Close()); err != nil {
		t.Error(err)
	}
}
