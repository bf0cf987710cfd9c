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

// TestTenantDoesNotDelayAnother: a tenant has more runs that compute without end than the node may run, and another's
// run starts and ends before any of them.
func TestTenantDoesNotDelayAnother(t *testing.T) {
	const greedy, modest tenant.ID = "greedy", "modest"
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, Effects: steps(), MaxRunning: 8, DrainTimeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	start := func(owner tenant.ID, file, input string) journal.RunID {
		t.Helper()
		if _, err := h.PushModule(ctx, owner, file, fixture(t, file), ""); err != nil {
			t.Fatal(err)
		}
		run, _, err := h.StartRun(ctx, owner, host.StartRun{Workflow: file, Input: []byte(input)})
		if err != nil {
			t.Fatal(err)
		}
		return run.ID
	}
	for range 16 {
		start(greedy, "spin", "")
	}
	running := func(s journal.State) int {
		t.Helper()
		page, err := h.Runs(ctx, greedy, journal.Filter{State: s})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Runs)
	}
	for running(journal.Running) < 6 {
		time.Sleep(time.Millisecond) // nobody announces it; the test's own time limit ends a hang
	}
	run, err := h.Result(ctx, modest, start(modest, "steps", "10"), patience)
	if err != nil || run.State != journal.Completed {
		t.Errorf("got %s (%s), %v of the other tenant's run, want completed", run.State, run.Reason, err)
	}
	if got, waits := running(journal.Running), running(journal.Ready); got != 6 || waits != 10 {
		t.Errorf("got %d runs of the first tenant running and %d ready, want 6, three quarters of 8, and the other 10", got, waits)
	}
}
