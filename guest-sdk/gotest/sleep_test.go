package gotest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// TestSleepForADay runs a Go guest that calls time.Sleep(24h) on a clock that skips: the whole host, its store
// and the guest are inside the bubble. While the run sleeps nothing of it is in memory.
func TestSleepForADay(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(env.dir, "sleeper.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		store, err := sqlite.Open(ctx, sqlite.Config{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(host.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := h.PushModule(ctx, tenant.Default, "sleeper", wasm, ""); err != nil {
			t.Fatal(err)
		}
		run, _, err := h.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "sleeper", Input: []byte(`"24h"`)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(23 * time.Hour)
		half, err := h.Run(ctx, tenant.Default, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if half.Run.State != journal.Waiting || half.Run.Owner != "" {
			t.Errorf("after 23 hours: got %s owned by %q, want waiting and nobody's", half.Run.State, half.Run.Owner)
		}
		got, err := h.Result(ctx, tenant.Default, run.ID, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != journal.Completed || string(got.Output) != `{"slept":"24h0m0s"}` {
			t.Errorf("got %s %s (%s), want a day slept", got.State, got.Output, got.Reason)
		}
		if took := time.Since(began); took < 24*time.Hour || took > 24*time.Hour+time.Minute {
			t.Errorf("it took %s on the fake clock, want a day and at most a poll", took)
		}
		if err := h.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
