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

// TestRetention: a node removes a run some time after its end, and no other.
func TestRetention(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, Poll: 20 * time.Millisecond, HoldFor: 10 * time.Millisecond,
		Retention: journal.Retention{Completed: time.Microsecond}, PruneEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	n := &node{Host: h, t: t, store: store}
	n.push("echo", "echo")
	n.push("signal", "signal")
	open := n.start("signal", "")
	id := n.start("echo", "x")
	for {
		_, err := n.Run(ctx, tenant.Default, id)
		var told *host.Error
		if errors.As(err, &told) && told.Code == "run_not_found" {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := n.Run(ctx, tenant.Default, open); err != nil {
		t.Errorf("an open run: %v", err)
	}
	wantError(t, n.DeleteRun(ctx, tenant.Default, open), host.Conflict, "run_open")
	wantError(t, n.DeleteRun(ctx, tenant.Default, id), host.NotFound, "run_not_found")
	if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestNegativeRetentionIsRefused(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := host.New(host.Config{Store: store, Retention: journal.Retention{Failed: -time.Second}}); err == nil {
		t.Error("got no error, want one")
	}
}
