package postgres

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/modules"
)

// holdEnv names the variable that says how long BenchmarkLongSnapshot keeps its snapshot.
const holdEnv = "REPRISE_BENCH_HOLD"

const (
	benchSlice  = time.Second
	benchFlight = 64 // runs that are under way
)

// BenchmarkLongSnapshot compares the throughput of two databases of one server that take turns of a second. In one of them somebody keeps a
// snapshot open, 20 s or as long as REPRISE_BENCH_HOLD says: what is replaced there meanwhile cannot be removed. The rows of the other can, for what
// a snapshot keeps are rows of its own database. Of a run, six entries are committed one by one, and it is suspended and woken once;
// every other run begins where it starts, and the rest are queued and claimed.
func BenchmarkLongSnapshot(b *testing.B) {
	hold := 20 * time.Second
	if text := os.Getenv(holdEnv); text != "" {
		var err error
		hold, err = time.ParseDuration(text)
		must(b, err)
	}
	cluster := pgtest.Start(b, pgtest.Options{Durable: true})
	for b.Loop() {
		benchLongSnapshot(b, [2]string{cluster.Database(b), cluster.Database(b)}, hold)
	}
}

// benchLongSnapshot keeps the snapshot in the second database.
func benchLongSnapshot(b *testing.B, dsns [2]string, hold time.Duration) {
	var loads [2]*load
	for i, dsn := range dsns {
		loads[i] = newLoad(b, dsn)
		defer loads[i].s.Close()
		loads[i].run(b, benchSlice) // warm
		loads[i].ended, loads[i].claims = 0, nil
	}
	holder, err := pgx.Connect(b.Context(), dsns[1])
	must(b, err)
	defer holder.Close(context.Background())
	for _, sql := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT count(*) FROM reprise.runs`} {
		_, err := holder.Exec(b.Context(), sql)
		must(b, err)
	}
	var ended [2]int
	var last float64
	const parts = 10
	began := time.Now()
	for part := range parts {
		var before [2]int
		for i, l := range loads {
			before[i] = l.ended
			l.claims = nil
		}
		for time.Since(began) < hold*time.Duration(part+1)/parts {
			for _, l := range loads {
				l.run(b, benchSlice)
			}
		}
		for i, l := range loads {
			ended[i] = l.ended - before[i]
		}
		last = float64(ended[1]) / float64(max(ended[0], 1))
		b.Logf("after %s: %d and %d runs, ratio %.2f; a claim takes %s and %s, rows of runs dead: %d and %d", time.Since(began).Round(time.Second), ended[0], ended[1],
			last, median(loads[0].claims), median(loads[1].claims), loads[0].dead(b), loads[1].dead(b))
	}
	b.ReportMetric(float64(loads[1].ended)/float64(max(loads[0].ended, 1)), "ratio")
	b.ReportMetric(last, "ratio-of-last-tenth")
	b.ReportMetric(float64(loads[0].ended)/(hold.Seconds()/2), "runs/s")
}

func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2].Round(10 * time.Microsecond)
}

// load is a node's work on one database, which can be interrupted.
type load struct {
	s      *Store
	node   string
	digest modules.Digest
	flight chan struct{} // has a place for each run that is under way

	mu     sync.Mutex
	turns  map[journal.RunID]int
	ended  int
	claims []time.Duration
}

func newLoad(b *testing.B, dsn string) *load {
	s, err := Open(b.Context(), Config{DSN: dsn})
	must(b, err)
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	l := &load{s: s, digest: modules.DigestOf(wasm), flight: make(chan struct{}, benchFlight), turns: map[journal.RunID]int{}}
	_, err = s.PutModule(b.Context(), modules.Module{Tenant: acme, Digest: l.digest, Size: 8, Shape: modules.Command}, wasm)
	must(b, err)
	n, err := s.Register(b.Context(), "bench", time.Hour)
	must(b, err)
	l.node = n.ID
	return l
}

func (l *load) dead(b *testing.B) (n int) {
	must(b, l.s.pool.QueryRow(b.Context(), `SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'reprise' AND relname = 'runs'`).Scan(&n))
	return n
}

// run works for a time. What is under way then is gone on with by the next call.
func (l *load) run(b *testing.B, d time.Duration) {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	defer cancel()
	work := context.WithoutCancel(ctx) // what has begun is brought to its end
	_, err := l.s.Heartbeat(work, l.node, time.Hour)
	must(b, err)
	var wg sync.WaitGroup
	check := func(err error) {
		if err != nil {
			b.Error(err)
			cancel()
		}
	}
	for i := range 8 {
		wg.Go(func() {
			for n := i; ; n++ {
				select {
				case l.flight <- struct{}{}:
				case <-ctx.Done():
					return
				}
				check(l.start(work, n%2 == 0))
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			cs, err := l.s.Claim(work, l.node, journal.Want{Limit: benchFlight})
			check(err)
			l.mu.Lock()
			l.claims = append(l.claims, time.Since(began))
			l.mu.Unlock()
			for _, c := range cs.Claims {
				wg.Go(func() { check(l.turn(work, c.Lease, c.Run.NextSeq)) })
			}
			if len(cs.Claims) == 0 {
				select {
				case <-l.s.Hints():
				case <-ctx.Done():
				}
			}
		}
	})
	wg.Wait()
}

func (l *load) start(ctx context.Context, here bool) error {
	r := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: string(l.digest), Digest: l.digest}
	if !here {
		_, _, err := l.s.Create(ctx, r)
		return err
	}
	r, _, err := l.s.Begin(ctx, r, l.node, journal.Entry{Kind: journal.KindStarted})
	if err != nil {
		return err
	}
	if r.State != journal.Running {
		return errors.New("a run did not begin where it was started")
	}
	return l.turn(ctx, journal.Lease{Tenant: acme, Run: r.ID, Node: l.node, Token: r.Token}, r.NextSeq)
}

// turn is the first or the second one of a run.
func (l *load) turn(ctx context.Context, lease journal.Lease, seq int64) error {
	l.mu.Lock()
	l.turns[lease.Run]++
	second := l.turns[lease.Run] == 2
	l.mu.Unlock()
	for range 3 {
		if _, err := l.s.Commit(ctx, lease, journal.Batch{Entries: entries(seq, 1)}); err != nil {
			return err
		}
		seq++
	}
	if !second {
		if _, err := l.s.Commit(ctx, lease, journal.Batch{Next: &journal.Transition{State: journal.Waiting}}); err != nil {
			return err
		}
		_, err := l.s.Signal(ctx, acme, lease.Run, "s1", "go", nil)
		return err
	}
	_, err := l.s.Commit(ctx, lease, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
	l.mu.Lock()
	l.ended++
	delete(l.turns, lease.Run)
	l.mu.Unlock()
	<-l.flight
	return err
}
