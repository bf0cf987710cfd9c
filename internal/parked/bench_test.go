package parked

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/tenant"
)

// Times of the benchmark: the first timer is due when all runs are parked, the last a minute later.
const (
	parking = 30 * time.Second
	spread  = time.Minute
)

// BenchmarkTimers has ten thousand timers come due within a minute, evenly, and reports how late each run has ended
// by the database's clock: claimed, replayed, its two entries and its end durable. Both journals keep what they
// acknowledge.
func BenchmarkTimers(b *testing.B) {
	for name, journal := range map[string]string{
		"sqlite":   filepath.Join(b.TempDir(), "reprise.db"),
		"postgres": pgtest.Start(b, pgtest.Options{Durable: true}).Database(b),
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				late, err := lateness(context.Background(), journal)
				if err != nil {
					b.Fatal(err)
				}
				slices.Sort(late)
				for _, p := range []struct {
					name string
					at   int
				}{{"p50", runs / 2}, {"p99", runs * 99 / 100}, {"max", runs - 1}} {
					b.ReportMetric(float64(late[p.at].Microseconds())/1000, p.name+"-ms")
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

func lateness(ctx context.Context, name string) (late []time.Duration, err error) {
	store, err := open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	h, err := boot(ctx, store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Stop(ctx)) }()
	first := time.Now().Add(parking)
	err = park(ctx, h, func(i int) time.Duration {
		return time.Until(first.Add(spread * time.Duration(i) / runs))
	})
	if err != nil {
		return nil, err
	}
	if err := none(ctx, store, []journal.State{journal.Ready, journal.Running}); err != nil {
		return nil, err
	}
	due := map[journal.RunID]time.Time{}
	waiting, err := list(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, r := range waiting {
		if r.State != journal.Waiting {
			return nil, fmt.Errorf("run %s is %s, want all parked before the first is due", r.ID, r.State)
		}
		due[r.ID] = r.WakeAt
	}
	if err := none(ctx, store, []journal.State{journal.Ready, journal.Running, journal.Waiting}); err != nil {
		return nil, err
	}
	if err := completed(ctx, store); err != nil {
		return nil, err
	}
	ended, err := list(ctx, store)
	for _, r := range ended {
		late = append(late, r.FinishedAt.Sub(due[r.ID]))
		if late[len(late)-1] < 0 {
			return nil, fmt.Errorf("run %s of %s has ended %s before its timer was due", r.ID, tenant.Default, -late[len(late)-1])
		}
	}
	return late, err
}
