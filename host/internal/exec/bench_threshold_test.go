package exec

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// thresholdPoint is one line of BenchmarkThreshold, a mean over the steps of a run that is suspended in each.
type thresholdPoint struct {
	Guest      string  `json:"guest"`
	Every      int64   `json:"every"` // 0 for never
	Steps      int     `json:"steps"`
	TurnUS     float64 `json:"turn_us"`     // of the turn, with the store
	HostUS     float64 `json:"host_cpu_us"` // processor time of the host
	WAL        float64 `json:"wal_bytes"`
	Checkpoint float64 `json:"checkpoint_bytes"`
}

// BenchmarkThreshold measures what checkpoints cost and save, by how many entries lie between two: a run on Postgres that is
// suspended at each of 600 steps. Never is the run that is always replayed.
func BenchmarkThreshold(b *testing.B) {
	guests := stepGuests(b)
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	for b.Loop() {
		enc := json.NewEncoder(os.Stdout)
		for _, g := range guests {
			for _, every := range []int64{0, 500, 200, 100, 50, 20, 1} {
				r := &resumption{TB: b, ctx: context.Background(), dsn: server.Database(b), cache: b.TempDir(), guest: g.name, code: g.code}
				if err := enc.Encode(r.suspended(600, every)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(0, "ns/op")
	}
}

func (r *resumption) suspended(steps int, every int64) thresholdPoint {
	n := r.boot()
	defer n.close()
	ask := pgtest.Session(r, r.dsn)
	wal := func() int64 {
		at, err := strconv.ParseInt(ask(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`), 10, 64)
		r.must(err)
		return at
	}
	digest := modules.DigestOf(r.code)
	_, err := n.store.PutModule(r.ctx, modules.Module{Tenant: tenant.Default, Digest: digest, Shape: modules.Reactor}, r.code)
	r.must(err)
	_, _, err = n.store.Create(r.ctx, journal.Run{Tenant: tenant.Default, ID: journal.NewRunID(), Workflow: "steps", Entry: "steps", Digest: digest, Input: strconv.AppendInt(nil, int64(steps), 10)})
	r.must(err)
	t := New(Config{Store: n.store, Engine: n.engine, Clock: systemClock{}, MaxAttempts: 1 << 30, Logger: slog.New(slog.DiscardHandler), Checkpoints: Checkpoints{Every: every},
		Effects: effect.Registry{"bench.add": {Retry: abi.Retry{Attempts: 2, BackoffMS: 1, MaxBackoffMS: 1}, Handler: effect.HandlerFunc(func(_ context.Context, q effect.Request) ([]byte, error) {
			if q.Attempt == 1 {
				return nil, abi.NewFailure("once", "at first")
			}
			return q.Input, nil
		})}}})
	_, err = t.load(r.ctx, tenant.Default, digest) // compiling it is no part of a turn
	r.must(err)
	p := thresholdPoint{Guest: r.guest, Every: every, Steps: steps}
	var took, cpu time.Duration
	walBefore := wal()
	for turns := 0; ; {
		cs, err := n.store.Claim(r.ctx, n.id, journal.Want{Limit: 1})
		r.must(err)
		if len(cs.Claims) == 0 && cs.NextDue < 0 {
			p.WAL = float64(wal()-walBefore) / float64(turns)
			p.TurnUS, p.HostUS = float64(took.Microseconds())/float64(turns), float64(cpu.Microseconds())/float64(turns)
			p.Checkpoint = float64(t.Counts().WrittenBytes) / float64(turns)
			if turns < steps {
				r.Fatalf("got %d turns, want one a step", turns)
			}
			return p
		}
		for _, c := range cs.Claims {
			begin, used := time.Now(), processorTime()
			t.Open(c).Run(r.ctx)
			took, cpu, turns = took+time.Since(begin), cpu+processorTime()-used, turns+1
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
