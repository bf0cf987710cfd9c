package exec

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/modules"
	"reprise/tenant"
)

// benchResumeDocEnv names the folder of the page and the plot that BenchmarkResume rewrites. Unset: it only prints.
const benchResumeDocEnv = "REPRISE_BENCH_RESUME_DOCS"

// resumePoint is one line of the result. Times are medians in milliseconds. A replay reads all entries; a thaw reads the checkpoint.
type resumePoint struct {
	Guest    string  `json:"guest"`
	Entries  int64   `json:"entries"`
	ReplayMS float64 `json:"replay_ms"`
	ThawMS   float64 `json:"thaw_ms"`
	// Of what is restarted, the time also has an engine with a warm cache on disk, the opening of the store, and the claim.
	RestartReplayMS float64 `json:"restart_replay_ms"`
	RestartThawMS   float64 `json:"restart_thaw_ms"`
	PackedBytes     int     `json:"packed_bytes"`
}

// stepGuest is a program that makes so many steps as its input says.
type stepGuest struct {
	name string
	code []byte
}

func stepGuests(tb testing.TB) []stepGuest {
	tb.Helper()
	ofGo, err := builtGo("go")
	if err != nil {
		tb.Fatal(err)
	}
	ofC, err := os.ReadFile("../../../testdata/guests/c/steps.wasm")
	if err != nil {
		tb.Fatal(err)
	}
	return []stepGuest{{"C", ofC}, {"Go", ofGo}}
}

// BenchmarkResume measures how long it takes from a claim until a run asks for its next step, when its journal in Postgres has so
// many entries and it stands at the last: by replay and from its checkpoint.
func BenchmarkResume(b *testing.B) {
	guests := stepGuests(b)
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	for b.Loop() {
		var points []resumePoint
		for _, g := range guests {
			r := &resumption{TB: b, ctx: context.Background(), dsn: server.Database(b), cache: b.TempDir(), guest: g.name, code: g.code}
			points = append(points, r.measure()...)
		}
		enc := json.NewEncoder(os.Stdout)
		for _, p := range points {
			if err := enc.Encode(p); err != nil {
				b.Fatal(err)
			}
		}
		if dir := os.Getenv(benchResumeDocEnv); dir != "" {
			if err := writeResume(dir, points); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
	}
}

// resumption measures one guest on a database of its own.
type resumption struct {
	testing.TB
	ctx        context.Context
	dsn, cache string
	guest      string
	code       []byte
}

func (r *resumption) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *resumption) measure() (points []resumePoint) {
	n := r.boot()
	_, err := n.store.PutModule(r.ctx, modules.Module{Tenant: tenant.Default, Digest: modules.DigestOf(r.code), Shape: modules.Reactor}, r.code)
	r.must(err)
	n.close()
	for i, entries := range []int64{100, 1000, 10_000, abi.MaxEntries - 1} {
		reps := 15
		if entries > 10_000 {
			reps = 5
		}
		id := journal.RunID{byte(i + 1)}
		packed := r.write(id, entries)
		p := resumePoint{Guest: r.guest, Entries: entries, PackedBytes: packed}
		n := r.boot()
		claimed := func(thaw bool) func() time.Duration {
			return func() time.Duration { return n.resume(n.claim(), time.Now(), thaw) }
		}
		p.ReplayMS, p.ThawMS = r.median(reps, claimed(false)), r.median(reps, claimed(true))
		n.close()
		restarted := func(thaw bool) func() time.Duration {
			return func() time.Duration {
				begin := time.Now()
				n := r.boot()
				defer n.close()
				return n.resume(n.claim(), begin, thaw)
			}
		}
		p.RestartReplayMS, p.RestartThawMS = r.median(5, restarted(false)), r.median(5, restarted(true))
		points = append(points, p)
		r.end(id)
	}
	return points
}

// median repeats a measurement; a first one warms everything up and does not count.
func (r *resumption) median(reps int, once func() time.Duration) float64 {
	once()
	var took []time.Duration
	for range reps {
		took = append(took, once())
	}
	slices.Sort(took)
	return float64(took[reps/2].Microseconds()) / 1000
}

// write makes a run with so many entries and a checkpoint behind the last: in memory, and then into the database.
func (r *resumption) write(id journal.RunID, entries int64) (packed int) {
	digest := modules.DigestOf(r.code)
	mem := newMemStore(journal.Run{Tenant: tenant.Default, ID: id, Workflow: "steps", Entry: "steps", Digest: digest, Input: strconv.AppendInt(nil, entries, 10), State: journal.Ready})
	mem.mods[digest] = r.code
	last := strconv.FormatInt(entries-1, 10)
	r.turner(mem, engine, Checkpoints{Every: entries}, func(_ context.Context, q effect.Request) ([]byte, error) {
		if string(q.Input) == last {
			return nil, abi.NewFailure("later", "not yet")
		}
		return q.Input, nil
	}).Open(mem.claim()).Run(r.ctx)
	if mem.run.State != journal.Waiting || mem.run.NextSeq != entries || mem.cp == nil || mem.cp.Seq != entries {
		r.Fatalf("%s: got %s with %d entries and checkpoint %v, want one behind %d", r.guest, mem.run.State, mem.run.NextSeq, mem.run.CheckpointSeq, entries)
	}
	n := r.boot()
	defer n.close()
	run := mem.run
	run.State = ""
	_, _, err := n.store.Create(r.ctx, run)
	r.must(err)
	l := n.claim().Lease
	const page = 1000
	for at := 0; at < len(mem.entries); at += page {
		batch := journal.Batch{Entries: mem.entries[at:min(at+page, len(mem.entries))]}
		if at+page >= len(mem.entries) {
			batch.Checkpoint, batch.Next = mem.cp, &journal.Transition{State: journal.Ready}
		}
		_, err := n.store.Commit(r.ctx, l, batch)
		r.must(err)
	}
	return len(mem.cp.Packed)
}

// end takes a run out of the way of the next.
func (r *resumption) end(id journal.RunID) {
	n := r.boot()
	defer n.close()
	c := n.claim()
	if c.Run.ID != id {
		r.Fatalf("got run %s, want %s", c.Run.ID, id)
	}
	_, err := n.store.Commit(r.ctx, c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Terminated}})
	r.must(err)
}

func (r *resumption) turner(s Store, e *sandbox.Engine, c Checkpoints, step effect.HandlerFunc) *Turner {
	return New(Config{Store: s, Engine: e, Clock: systemClock{}, MaxAttempts: 1 << 30, Logger: slog.New(slog.DiscardHandler), Checkpoints: c,
		Effects: effect.Registry{"bench.add": {Retry: abi.Retry{Attempts: 2, BackoffMS: 3_600_000}, Handler: step}}})
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// resumeNode is what a host has open.
type resumeNode struct {
	*resumption
	store  *postgres.Store
	engine *sandbox.Engine
	id     string
}

func (r *resumption) boot() *resumeNode {
	e, err := sandbox.New(r.ctx, sandbox.Config{CacheDir: r.cache})
	r.must(err)
	s, err := postgres.Open(r.ctx, postgres.Config{DSN: r.dsn})
	r.must(err)
	node, err := s.Register(r.ctx, "bench", time.Hour)
	r.must(err)
	return &resumeNode{r, s, e, node.ID}
}

func (n *resumeNode) close() {
	n.must(n.engine.Close(n.ctx))
	n.must(n.store.Close())
}

func (n *resumeNode) claim() journal.Claim {
	cs, err := n.store.Claim(n.ctx, n.id, journal.Want{Limit: 1})
	n.must(err)
	if len(cs.Claims) != 1 {
		n.Fatalf("got %d runs, want one", len(cs.Claims))
	}
	return cs.Claims[0]
}

// resume measures from begin until the run's next step leaves; the run is then given back.
func (n *resumeNode) resume(c journal.Claim, begin time.Time, thaw bool) (took time.Duration) {
	if !thaw {
		c.Run.CheckpointSeq = 0
	}
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	t := n.turner(n.store, n.engine, Checkpoints{}, func(ctx context.Context, _ effect.Request) ([]byte, error) {
		took = time.Since(begin)
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	t.Open(c).Run(ctx)
	t.Wait(n.ctx)
	if got := t.Counts(); took == 0 || (got.Thawed == 1) != thaw || len(got.Fallbacks) > 0 {
		n.Fatalf("%s with %d entries: got %s until the next step, %+v, want thawed %v", n.guest, c.Run.NextSeq, took, got, thaw)
	}
	return took
}
