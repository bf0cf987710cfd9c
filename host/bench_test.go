package host_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"reprise/host"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// BenchmarkSteps runs workflows of ten sequential effects that do nothing, as many at a time as the name says, on a
// SQLite file with synchronous=FULL and on a Postgres with fsync and synchronous_commit. One iteration is one step.
func BenchmarkSteps(b *testing.B) {
	cluster := pgtest.Start(b, pgtest.Options{Durable: true})
	for _, flight := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("postgres-%d", flight), func(b *testing.B) {
			store, err := postgres.Open(context.Background(), postgres.Config{DSN: cluster.Database(b)})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			benchSteps(b, store, flight)
		})
		b.Run(fmt.Sprintf("sqlite-%d", flight), func(b *testing.B) {
			store, err := sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(b.TempDir(), "reprise.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			benchSteps(b, store, flight)
		})
	}
}

const stepsPerRun = 10

func benchSteps(b *testing.B, store journal.Store, flight int) {
	ctx := context.Background()
	h, err := host.New(host.Config{Store: store, Effects: steps(), MaxRunning: flight, MaxRunningPerTenant: flight})
	if err != nil {
		b.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		b.Fatal(err)
	}
	if _, err := h.PushModule(ctx, tenant.Default, "steps", fixture(b, "steps"), ""); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	runs := make(chan struct{}, b.N/stepsPerRun+1)
	for range b.N/stepsPerRun + 1 {
		runs <- struct{}{}
	}
	close(runs)
	var wg sync.WaitGroup
	for range flight {
		wg.Go(func() {
			for range runs {
				run, _, err := h.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "steps", Input: []byte(fmt.Sprint(stepsPerRun))})
				if err == nil {
					run, err = h.Result(ctx, tenant.Default, run.ID, time.Minute)
				}
				if err != nil || run.State != journal.Completed {
					b.Errorf("got %s, %v", run.State, err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	if err := h.Stop(ctx); err != nil {
		b.Error(err)
	}
}
